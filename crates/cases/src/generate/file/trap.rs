//! Traps: differences in meaning between versions, and the cases that detect them.

use serde::Deserialize;

use crate::generate::file::since::Since;

/// A rule of some versions that does not hold in their neighbors, or one that a careless implementation breaks in any.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrapFile {
    /// The rule, in markdown.
    pub says: String,
    /// The first version it applies to, or ranges of versions.
    pub since: Option<Since>,
    /// The last version it applies to, by its since.
    pub until: Option<u32>,
    /// Names of cases with outputs by hand, which differ under any other rule.
    pub cases: Vec<String>,
}

impl TrapFile {
    /// Returns true if the trap is for the version that begins at this opset.
    pub fn covers(&self, since: u32) -> bool {
        self.since.as_ref().is_none_or(|first| first.covers(since)) && self.until.is_none_or(|last| since <= last)
    }
}

/// Returns the line and column, counted from 1, of a word in the trap of this index. If it is not found, those of the
/// trap or of `traps`.
pub(crate) fn place(text: &str, number: usize, word: &str) -> (usize, usize) {
    let is_head = |line: &str| line.starts_with("traps:");
    let Some(head) = text.lines().position(is_head) else { return (1, 1) };
    let lines = text.lines().enumerate().skip(head + 1);
    let block: Vec<(usize, &str)> =
        lines.take_while(|(_, line)| line.is_empty() || line.starts_with([' ', '-', '#'])).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    let outermost = block.iter().filter(|(_, line)| is_item(line)).map(|(_, line)| indent(line)).min();
    let begins = |at: &usize| block.get(*at).is_some_and(|(_, line)| is_item(line) && Some(indent(line)) == outermost);
    let mut items = (0..block.len()).filter(begins).skip(number);
    let Some(first) = items.next() else { return (head + 1, 1) };
    let item = block.get(first..items.next().unwrap_or(block.len())).unwrap_or_default();
    let found = item.iter().find_map(|(line, content)| Some((line + 1, column_of(content, word)?)));
    found.unwrap_or((head + 2 + first, outermost.unwrap_or(0) + 1))
}

/// Returns the column, counted from 1, of a name in a line, unless it is part of a longer one.
fn column_of(line: &str, name: &str) -> Option<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_whole = |(at, _): &(usize, &str)| {
        let before = line.get(..*at).and_then(|before| before.chars().next_back());
        let after = line.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    line.match_indices(name).find(is_whole).map(|(at, _)| line.get(..at).unwrap_or_default().chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_the_trap_of_its_number() {
        let text = "op: A\ntraps:\n  - says: one\n    cases: [first, second]\n  - says: two\n    cases:\n      - second_one\n      - second\ncases: []\n";
        assert_eq!(place(text, 0, "second"), (4, 20));
        assert_eq!(place(text, 1, "second"), (8, 9));
        assert_eq!(place(text, 1, "third"), (5, 3));
        assert_eq!(place(text, 2, "second"), (2, 1));
        assert_eq!(place("op: A\n", 0, "second"), (1, 1));
    }
}
