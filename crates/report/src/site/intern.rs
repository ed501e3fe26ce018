//! Interned texts: each shared text of a page is stored once.

use std::collections::BTreeMap;

/// Texts by position, in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    texts: Vec<String>,
    positions: BTreeMap<String, usize>,
}

impl Interned {
    /// Returns the position of a text.
    pub(crate) fn position(&mut self, text: String) -> usize {
        let next = self.texts.len();
        *self.positions.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }

    /// Returns true for a text that has a position.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.positions.contains_key(text)
    }

    /// Returns the texts, each at its position.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
