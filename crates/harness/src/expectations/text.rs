//! Lines of an expectation file, for rewriting it without losing comments.

use crate::expectations::entry::Entry;

/// An expectation file as text: the lines before the entries, the entries with the lines before each, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpectationText {
    head: Vec<String>,
    items: Vec<Item>,
    tail: Vec<String>,
}

/// An entry as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Item {
    /// Comments and empty lines before the entry, ending with an empty line. They are not specific to this entry.
    apart: Vec<String>,
    /// Comments directly before the entry.
    comments: Vec<String>,
    /// The entry's own lines.
    lines: Vec<String>,
}

/// Change of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// Keeps the text.
    Keep,
    /// Replaces the fields and keeps the position.
    Rewrite(Box<Entry>),
    /// Removes the entry.
    Drop,
}

impl ExpectationText {
    /// Parses a file whose key `expect` is a list with one `- ` line per item, or empty. Returns `None` for any other layout.
    pub(super) fn read(text: &str) -> Option<ExpectationText> {
        let mut layout = ExpectationText::default();
        let mut lines = text.lines();
        let key = lines.by_ref().find(|line: &&str| {
            let is_key = line.strip_prefix("expect:");
            layout.head.push((*line).to_owned());
            is_key.is_some()
        });
        let Some(key) = key else {
            layout.head.push("expect:".to_owned());
            return Some(layout);
        };
        let (value, comment) = key["expect:".len()..].split_once('#').unwrap_or((&key["expect:".len()..], ""));
        match value.trim() {
            "" => {}
            "[]" => {
                let comment = if comment.is_empty() { String::new() } else { format!(" #{comment}") };
                *layout.head.last_mut()? = format!("expect:{comment}");
            }
            _ => return None,
        }
        layout.read_items(lines)?;
        Some(layout)
    }

    fn read_items<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> Option<()> {
        let (mut indent, mut waiting): (Option<usize>, Vec<String>) = (None, Vec::new());
        for line in lines {
            let content = line.trim_start();
            let depth = line.len() - content.len();
            let is_item = (content.starts_with("- ") || content == "-") && indent.is_none_or(|indent| depth == indent);
            if !self.tail.is_empty() || content.is_empty() || content.starts_with('#') {
                let target = if self.tail.is_empty() { &mut waiting } else { &mut self.tail };
                target.push(line.to_owned());
            } else if is_item {
                indent = Some(depth);
                self.items.push(Item::after(std::mem::take(&mut waiting), line));
            } else if indent.is_some_and(|indent| depth > indent) {
                let item = self.items.last_mut()?;
                item.lines.append(&mut waiting);
                item.lines.push(line.to_owned());
            } else if depth == 0 {
                self.tail.append(&mut waiting);
                self.tail.push(line.to_owned());
            } else {
                return None;
            }
        }
        self.tail.splice(0..0, waiting);
        Some(())
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the first line number of each entry, from 1.
    pub(super) fn lines(&self) -> Vec<usize> {
        let mut line = self.head.len();
        let number = |item: &Item| {
            let first = line + item.apart.len() + item.comments.len() + 1;
            line = first + item.lines.len() - 1;
            first
        };
        self.items.iter().map(number).collect()
    }

    /// Returns the text with the changes applied to the entries in order, and the new entries after the last.
    pub(super) fn rewritten(&self, changes: &[Change], new: &[Entry]) -> String {
        let indent = self.items.first().and_then(|item| item.lines.first());
        let indent = indent.map_or(2, |line| line.len() - line.trim_start().len());
        let item = |entry: &Entry| format!("{}- {}", " ".repeat(indent), entry.to_yaml());
        let mut text = self.head.clone();
        // Comments of a removed entry are kept if they may also be about the next entries.
        let mut orphans = Vec::new();
        for (old, change) in self.items.iter().zip(changes) {
            text.extend(old.apart.iter().cloned());
            if !old.apart.is_empty() || !old.comments.is_empty() {
                orphans.clear();
            }
            if *change == Change::Drop {
                orphans.extend(old.comments.iter().cloned());
                continue;
            }
            text.append(&mut orphans);
            text.extend(old.comments.iter().cloned());
            match change {
                Change::Rewrite(entry) => {
                    text.extend(old.lines.iter().skip(1).filter(|line| line.trim_start().starts_with('#')).cloned());
                    text.push(item(entry) + &old.trailing_comment());
                }
                Change::Keep | Change::Drop => text.extend(old.lines.iter().cloned()),
            }
        }
        let is_empty = new.is_empty() && changes.iter().all(|change| *change == Change::Drop);
        if let Some(key) = text.iter_mut().find(|line| line.starts_with("expect:")).filter(|_| is_empty) {
            *key = key.replacen("expect:", "expect: []", 1);
        }
        text.extend(new.iter().map(item));
        text.extend(self.tail.iter().cloned());
        text.join("\n") + "\n"
    }
}

impl Item {
    fn after(mut waiting: Vec<String>, line: &str) -> Item {
        let attached = waiting.iter().rposition(|line| line.trim().is_empty()).map_or(0, |index| index + 1);
        let comments = waiting.split_off(attached);
        Item { apart: waiting, comments, lines: vec![line.to_owned()] }
    }

    /// Returns the comment after a one-line entry in braces.
    fn trailing_comment(&self) -> String {
        let behind = match self.lines.as_slice() {
            [only] => only.rsplit_once('}').map(|(_, behind)| behind),
            _ => None,
        };
        behind.filter(|behind| behind.trim_start().starts_with('#')).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Outcome;

    const TEXT: &str = "# head
runtime: a
expect:  # all of it
  # group one

  # about x
  - {cases: x, outcome: error}  # flaky?
  - cases: y
    # inside
    outcome: error

  - {cases: z, outcome: error}
# tail
strict: true
";

    fn check(changes: &[Change; 3], new: &[Entry], expected: &str) {
        let layout = ExpectationText::read(TEXT).unwrap();
        assert_eq!(layout.len(), 3);
        assert_eq!(layout.lines(), [7, 8, 12]);
        assert_eq!(layout.rewritten(changes, new), expected);
    }

    #[test]
    fn kept_entries_stay_byte_for_byte() {
        check(&[Change::Keep, Change::Keep, Change::Keep], &[], TEXT);
    }

    #[test]
    fn a_comment_goes_with_its_entry_only_where_it_is_about_no_other() {
        let start = "# head\nruntime: a\nexpect:  # all of it\n  # group one\n\n";
        let text = "  # about x\n  - cases: y\n    # inside\n    outcome: error\n\n# tail\nstrict: true\n";
        check(&[Change::Drop, Change::Keep, Change::Drop], &[], &format!("{start}{text}"));
        let text = "\n  - {cases: z, outcome: error}\n# tail\nstrict: true\n";
        check(&[Change::Drop, Change::Drop, Change::Keep], &[], &format!("{start}{text}"));
    }

    #[test]
    fn an_entry_is_rewritten_in_place_and_new_ones_follow() {
        let text = "# head\nruntime: a\nexpect:  # all of it\n  # group one\n\n  # about x\n  \
                    - {cases: x, outcome: crash}  # flaky?\n    # inside\n  - {cases: y, outcome: crash}\n\n  \
                    - {cases: z, outcome: error}\n  - {cases: w, outcome: crash}\n# tail\nstrict: true\n";
        let crash = |cases: &str| Entry::ending(cases.to_owned(), Outcome::Crash);
        check(
            &[Change::Rewrite(crash("x").into()), Change::Rewrite(crash("y").into()), Change::Keep],
            &[crash("w")],
            text,
        );
    }

    #[test]
    fn a_file_without_entries_gets_them_and_loses_them() {
        let error = [Entry::ending("x".to_owned(), Outcome::Error)];
        for text in ["runtime: a\nexpect: []\n", "runtime: a\nexpect:\n", "runtime: a\n"] {
            let written = ExpectationText::read(text).unwrap().rewritten(&[], &error);
            assert_eq!(written, "runtime: a\nexpect:\n  - {cases: x, outcome: error}\n");
            let emptied = ExpectationText::read(&written).unwrap().rewritten(&[Change::Drop], &[]);
            assert_eq!(emptied, "runtime: a\nexpect: []\n");
        }
        assert_eq!(ExpectationText::read("runtime: a\nexpect: [{cases: x, outcome: error}]\n"), None);
    }
}
