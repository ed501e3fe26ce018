//! Rewriting an expectation file to what came, with the comments and reasons that people have written.

use std::fmt::{self, Write};

use crate::run::fold::fold;
use crate::run::{CaseResult, Entry, Expectations, Expected, Outcome, Standing, Used};
use crate::runtime::Declaration;

/// The text of an expectation file and where its entries stand in it.
struct Blocks<'a> {
    head: &'a str,
    /// Each entry with the comments before it.
    entries: Vec<&'a str>,
    tail: &'a str,
}

impl Expectations {
    /// The text of the file that these results ask for, all of a whole run. `text` is the file as it is, empty where there
    /// is none. Entries that hold stay as they are written, comments included; the others go; what nothing accounts for is
    /// added at the end.
    pub fn updated(&self, text: &str, runtime: &Declaration, results: &[CaseResult], strict: bool) -> String {
        let silent = |result: &&CaseResult| !result.outcome.is_silent() && result.is_gated(strict);
        let all: Vec<&CaseResult> = results.iter().filter(silent).collect();
        let holds = self.holding(runtime, &all);
        let kept = Expectations {
            runtime: self.runtime.clone(),
            expect: self
                .expect
                .iter()
                .zip(&holds)
                .filter(|(_, holds)| **holds)
                .map(|(entry, _)| entry.clone())
                .collect(),
        };
        let expected = Expected::new(&kept, runtime);
        let added = fold(&all, |result| expected.standing(result, strict, &mut Used::default()) == Standing::Expected);
        let blocks = Blocks::of(text, self.expect.len());
        let mut out = match &blocks {
            Some(blocks) => blocks.head.to_owned(),
            None => format!(
                "# What this runtime does not pass, how, and why: docs/runtimes.md.\nruntime: {}\nexpect:\n",
                self.runtime
            ),
        };
        for (at, holds) in holds.iter().enumerate() {
            if let Some(block) = blocks.as_ref().and_then(|blocks| blocks.entries.get(at)).filter(|_| *holds) {
                out.push_str(block);
            } else if *holds && let Some(entry) = self.expect.get(at) {
                let _ = writeln!(out, "  - {entry}");
            }
        }
        for entry in &added {
            // What was said of the same cases goes on being true of them, though they end otherwise.
            let same = |old: &&Entry| old.cases == entry.cases && old.unsupported == entry.unsupported;
            let old = self.expect.iter().find(same).cloned().unwrap_or_default();
            let entry = Entry { reason: old.reason, url: old.url, ..entry.clone() };
            let _ = writeln!(out, "  - {entry}");
        }
        if !out.contains("\n  - ") {
            out = out.replace("expect:\n", "expect: []\n");
        } else {
            out = out.replace("expect: []\n", "expect:\n");
        }
        out + blocks.map_or("", |blocks| blocks.tail)
    }

    /// Which entries still say exactly how each of their cases ends. One that does not apply here is not for this run to judge.
    fn holding(&self, runtime: &Declaration, all: &[&CaseResult]) -> Vec<bool> {
        let expected = Expected::new(self, runtime);
        let (mut used, mut agree) = (Used::default(), vec![true; self.expect.len()]);
        for result in all {
            for (at, agrees) in expected.verdicts(result, &mut used) {
                if let Some(all_agree) = agree.get_mut(at) {
                    *all_agree &= agrees;
                }
            }
        }
        let refused: Vec<&Entry> = expected.unused(&used).into_iter().chain(expected.spanning(&used)).collect();
        let is_refused = |entry: &Entry| refused.iter().any(|refused| std::ptr::eq(*refused, entry));
        self.expect.iter().zip(agree).map(|(entry, agrees)| agrees && !is_refused(entry)).collect()
    }
}

impl<'a> Blocks<'a> {
    /// The blocks of a file with this many entries, if they can be told apart by their lines.
    fn of(text: &'a str, count: usize) -> Option<Blocks<'a>> {
        let start = text.find("expect:")?;
        let head_end = start + text.get(start..)?.find('\n').map_or(text.len() - start, |at| at + 1);
        let (head, body) = (text.get(..head_end)?, text.get(head_end..)?);
        let (mut entries, mut begin, mut at, mut inside) = (Vec::new(), 0, 0, false);
        for line in body.split_inclusive('\n') {
            let trimmed = line.trim_start();
            let is_entry = trimmed.starts_with("- ");
            let is_comment = trimmed.starts_with('#') || trimmed.trim().is_empty();
            if inside && (is_entry || is_comment) {
                entries.push(body.get(begin..at)?);
                begin = at;
                inside = false;
            }
            inside |= is_entry;
            at += line.len();
        }
        if inside {
            entries.push(body.get(begin..)?);
            begin = body.len();
        }
        (entries.len() == count).then_some(Blocks { head, entries, tail: body.get(begin..)? })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&line(self))
    }
}

/// An entry on one line.
fn line(entry: &Entry) -> String {
    let fields = [
        ("cases", entry.cases.as_deref().map(quoted)),
        ("unsupported", entry.unsupported.as_deref().map(quoted)),
        ("outcome", entry.outcome.as_ref().map(Outcome::to_string)),
        ("spans_operators", entry.spans_operators.then(|| "true".to_owned())),
        ("when", entry.when.as_ref().map(ToString::to_string)),
        ("message", entry.message.as_deref().map(quoted)),
        ("reason", entry.reason.as_deref().map(quoted)),
        ("url", entry.url.as_deref().map(quoted)),
    ];
    let given: Vec<String> = fields.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?))).collect();
    format!("{{{}}}", given.join(", "))
}

/// A YAML scalar, quoted where plain text would be read as something else.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ' | '(' | ')');
    let safe = text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.ends_with(' ');
    if safe { text.to_owned() } else { format!("{text:?}") }
}
