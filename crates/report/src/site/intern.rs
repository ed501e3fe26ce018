//! Texts that many places of a page share, each once.

use std::collections::BTreeMap;

/// Texts by position, in the order in which they are first needed.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    texts: Vec<String>,
    positions: BTreeMap<String, usize>,
}

impl Interned {
    /// The position of a text.
    pub(crate) fn position(&mut self, text: String) -> usize {
        let next = self.texts.len();
        *self.positions.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }

    /// The texts by position.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
