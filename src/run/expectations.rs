//! What is expected of a runtime besides passing: the cases that it does not pass, how, and why.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use miette::Diagnostic;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::{Deserialize, Serialize};

use crate::run::{CaseResult, Condition, Outcome};
use crate::runtime::Declaration;
use crate::suite::Filter;

/// expectations/<runtime>.yaml.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The runtime that the file is about.
    pub runtime: String,
    /// What it does not pass.
    #[serde(default)]
    pub expect: Vec<Entry>,
}

/// Cases that a runtime does not pass. An entry selects either by id or by what the runtime says it lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// A glob over case ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<String>,
    /// What the runtime lacks, in its own words, or a glob over such words: every case that is unsupported for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// How the cases end; an entry for `unsupported` needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Says that a glob is meant to reach across operators; without it, the cases of an entry have an operator in common.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans_operators: bool,
    /// Where the entry applies; everywhere without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// How the message begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An expectation file that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ExpectationError {
    /// The text is not such a file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// An entry contradicts itself.
    #[error("{path}: entry {number}: {rule}")]
    Entry {
        /// The file.
        path: String,
        /// The number of the entry, from 1.
        number: usize,
        /// What is wrong.
        rule: String,
    },
    /// The file is about another runtime.
    #[error("{path}: is about '{found}', not '{runtime}'; name the runtime's own file")]
    Runtime {
        /// The file.
        path: String,
        /// The runtime that the file names.
        found: String,
        /// The runtime that is run.
        runtime: String,
    },
}

/// How a result stands to what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It passes, and nothing else is expected.
    Pass,
    /// It fails as listed.
    Expected,
    /// It fails and is not listed, or fails worse than listed.
    Regression,
    /// It passes though listed, or fails less badly.
    Improvement,
    /// It bears on nothing: what the standard leaves open, what was not sent, what says nothing.
    Silent,
}

impl Expectations {
    /// Reads `text`, the contents of the expectation file called `path`.
    pub fn parse(path: &str, text: &str) -> Result<Expectations, ExpectationError> {
        let file: Expectations = yaml::read(path, text)?;
        for (at, entry) in file.expect.iter().enumerate() {
            let wrong = |rule: &str| {
                Err(ExpectationError::Entry { path: path.to_owned(), number: at + 1, rule: rule.to_owned() })
            };
            match (&entry.cases, &entry.unsupported, entry.outcome) {
                (None, None, _) => return wrong("selects nothing; give it `cases` or `unsupported`"),
                (Some(_), Some(_), _) => return wrong("selects twice; give it `cases` or `unsupported`, not both"),
                (Some(_), None, None) => return wrong("has no outcome; say how the cases end"),
                (Some(_), None, Some(Outcome::Pass)) => return wrong("expects a pass, which needs no entry"),
                (Some(pattern), None, _) if pattern.starts_with('!') => {
                    return wrong("says which cases it does not mean; name those that it means");
                }
                (None, Some(_), Some(_)) => return wrong("says `unsupported` already; leave out the outcome"),
                _ => {}
            }
            if let Some(pattern) = &entry.cases
                && let Err(error) = Filter::new(&[pattern])
            {
                return wrong(&error.to_string());
            }
            if let Some(pattern) = &entry.unsupported
                && let Err(error) = Glob::new(pattern)
            {
                return wrong(&format!("'{pattern}' is not a pattern: {}", error.kind()));
            }
            if let Some(Err(rule)) = entry.when.as_ref().map(Condition::check) {
                return wrong(&rule);
            }
        }
        let mut selectors = BTreeMap::new();
        for (at, entry) in file.expect.iter().enumerate() {
            let selector = (&entry.cases, &entry.unsupported, &entry.when, &entry.message);
            if let Some(first) = selectors.insert(selector, at + 1) {
                let rule = format!("selects what entry {first} selects; keep one of them");
                return Err(ExpectationError::Entry { path: path.to_owned(), number: at + 1, rule });
            }
        }
        Ok(file)
    }

    /// Nothing but passes.
    pub fn none(runtime: &str) -> Expectations {
        Expectations { runtime: runtime.to_owned(), expect: Vec::new() }
    }

    /// The expectations of the file called `path` themselves, if they are about this runtime.
    pub fn about(self, path: &str, runtime: &str) -> Result<Expectations, ExpectationError> {
        if self.runtime == runtime {
            return Ok(self);
        }
        Err(ExpectationError::Runtime { path: path.to_owned(), found: self.runtime, runtime: runtime.to_owned() })
    }
}

/// The entries of a file that apply to a runtime here, made ready to be held against many results.
#[derive(Debug)]
pub struct Expected<'a> {
    /// By position in the file.
    entries: BTreeMap<usize, &'a Entry>,
    /// Entries with a plain id or a plain reason, which need no glob.
    plain: HashMap<(Selector, &'a str), Vec<usize>>,
    globs: BTreeMap<Selector, (GlobSet, Vec<usize>)>,
}

/// What an entry selects by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Selector {
    Id,
    Missing,
}

/// What the entries selected during a run.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// By entry: how many results it selected, and the operators that all of these have in common.
    selected: BTreeMap<usize, (usize, BTreeSet<String>)>,
}

impl<'a> Expected<'a> {
    /// The entries that apply to this runtime on this machine.
    pub fn new(file: &'a Expectations, runtime: &Declaration) -> Expected<'a> {
        let applies = |(_, entry): &(usize, &Entry)| entry.when.as_ref().is_none_or(|when| when.holds(runtime));
        let entries: BTreeMap<usize, &Entry> = file.expect.iter().enumerate().filter(applies).collect();
        let (mut plain, mut globs) = (HashMap::new(), BTreeMap::new());
        for (&at, entry) in &entries {
            let (selector, pattern) = match (&entry.cases, &entry.unsupported) {
                (Some(pattern), _) => (Selector::Id, pattern.as_str()),
                (None, Some(pattern)) => (Selector::Missing, pattern.as_str()),
                (None, None) => continue,
            };
            if pattern.contains(['*', '?', '[', '{', '\\', '!']) {
                let (patterns, positions): &mut (Vec<&str>, Vec<usize>) = globs.entry(selector).or_default();
                patterns.push(pattern);
                positions.push(at);
            } else {
                plain.entry((selector, pattern)).or_insert_with(Vec::new).push(at);
            }
        }
        let globs = globs.into_iter().map(|(selector, (patterns, positions))| {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                // A pattern that is none was refused when the file was read.
                let glob = GlobBuilder::new(pattern).literal_separator(selector == Selector::Id).build();
                if let Ok(glob) = glob {
                    set.add(glob);
                }
            }
            (selector, (set.build().unwrap_or_default(), positions))
        });
        Expected { globs: globs.collect(), plain, entries }
    }

    /// The entries that select a result, by position.
    fn selecting(&self, result: &CaseResult) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut seek = |selector: Selector, text: &str| {
            found.extend(self.plain.get(&(selector, text)).into_iter().flatten().copied());
            if let Some((set, positions)) = self.globs.get(&selector) {
                found.extend(set.matches(text).into_iter().filter_map(|at| positions.get(at).copied()));
            }
        };
        seek(Selector::Id, &result.id);
        // The path of a group chooses the group.
        for (at, _) in result.id.match_indices('/') {
            if let Some(group) = result.id.get(..at) {
                seek(Selector::Id, group);
            }
        }
        if let Some(what) = &result.missing {
            seek(Selector::Missing, what);
        }
        found
    }

    /// The entries that select a result, by position, and whether each says how it ended. Notes them in `used`.
    pub(super) fn verdicts(&self, result: &CaseResult, used: &mut Used) -> Vec<(usize, bool)> {
        let verdict = |at: usize| {
            let entry = self.entries.get(&at)?;
            used.note(at, result);
            Some((at, entry.ends() == result.outcome && entry.says(&result.message)))
        };
        self.selecting(result).into_iter().filter_map(verdict).collect()
    }

    /// How a result stands, and notes in `used` the entries that selected it. Every entry that selects a result has to
    /// say how it ended, so that a glob cannot cover different outcomes.
    pub fn standing(&self, result: &CaseResult, strict: bool, used: &mut Used) -> Standing {
        if result.outcome.is_silent() || !result.is_gated(strict) {
            return Standing::Silent;
        }
        let verdicts = self.verdicts(result, used);
        if verdicts.is_empty() {
            return if result.outcome == Outcome::Pass { Standing::Pass } else { Standing::Regression };
        }
        let is_better =
            |at: &usize| self.entries.get(at).is_some_and(|entry| result.outcome.rank() < entry.ends().rank());
        let wrong: Vec<&usize> = verdicts.iter().filter(|(_, agrees)| !agrees).map(|(at, _)| at).collect();
        if wrong.is_empty() {
            Standing::Expected
        } else if wrong.into_iter().all(is_better) {
            Standing::Improvement
        } else {
            Standing::Regression
        }
    }

    /// The entries that selected no result of a whole run.
    pub fn unused(&self, used: &Used) -> Vec<&'a Entry> {
        self.entries.iter().filter(|(at, _)| !used.selected.contains_key(at)).map(|(_, entry)| *entry).collect()
    }

    /// The entries whose cases have no operator in common, though they do not say so.
    pub fn spanning(&self, used: &Used) -> Vec<&'a Entry> {
        let spans = |(at, entry): &(&usize, &&Entry)| {
            let wide = used.selected.get(at).is_some_and(|(count, common)| *count > 1 && common.is_empty());
            wide && entry.cases.is_some() && !entry.spans_operators
        };
        self.entries.iter().filter(spans).map(|(_, entry)| *entry).collect()
    }
}

impl Entry {
    /// How its cases end.
    fn ends(&self) -> Outcome {
        self.outcome.unwrap_or(Outcome::Unsupported)
    }

    fn says(&self, message: &str) -> bool {
        self.message.as_ref().is_none_or(|beginning| message.starts_with(beginning))
    }
}

impl Used {
    fn note(&mut self, at: usize, result: &CaseResult) {
        let operators = result.operators();
        let (count, common) = self.selected.entry(at).or_insert_with(|| (0, operators.clone()));
        *count += 1;
        common.retain(|operator| operators.contains(operator));
    }
}
