//! Patterns of graphs, and the measured runtimes that rewrite them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use onnx_conformance_cases::suite::{Filter, GraphCases, GraphId, GraphRole, SuiteError};
use onnx_conformance_harness::measure::Measurement;
use serde::Serialize;

/// Patterns of graphs, and the measured runtimes that rewrite them.
#[derive(Clone, Debug, Serialize)]
pub struct GraphCoverage {
    /// The measurements that list the runtime's rewrites, oldest first: `onnxruntime 1.31.1`.
    pub asked: Vec<String>,
    /// The newest measurement of each runtime whose measurements do not list them.
    pub not_asked: Vec<String>,
    /// The patterns.
    pub patterns: Vec<GraphPattern>,
}

/// A pattern, and the measured runtimes that rewrite it.
#[derive(Clone, Debug, Serialize)]
pub struct GraphPattern {
    /// Topic and name, as ids begin: `graph/transposes/pair_that_cancels`.
    pub id: String,
    /// The rewrite in one sentence.
    pub says: String,
    /// Number of near misses.
    pub near_misses: usize,
    /// Number of contexts of the good form.
    pub contexts: usize,
    /// Number of cases.
    pub cases: usize,
    /// The newest version of each runtime that rewrites the good form: `onnxruntime 1.32.0`.
    pub rewritten_by: Vec<String>,
}

impl GraphPattern {
    /// Returns the topic.
    pub fn topic(&self) -> &str {
        self.id.split('/').nth(1).unwrap_or_default()
    }

    /// Returns true if no measured runtime rewrites the pattern.
    pub fn is_dead(&self) -> bool {
        self.rewritten_by.is_empty()
    }
}

impl GraphCoverage {
    /// Collects the patterns with a case that the filter selects, by these measurements, which are sorted by runtime and version.
    pub fn new(filter: &Filter, measurements: &[&Measurement]) -> Result<GraphCoverage, SuiteError> {
        let mut cases: BTreeMap<(&str, &str), Vec<GraphId<'_>>> = BTreeMap::new();
        for id in GraphCases::all_ids().filter(|id| filter.matches(id)) {
            let Some(graph) = GraphId::parse(id) else { continue };
            cases.entry((graph.topic, graph.pattern)).or_default().push(graph);
        }
        let mut patterns = Vec::new();
        for file in GraphCases::topics()? {
            for pattern in file.patterns() {
                let Some(graphs) = cases.get(&(file.name(), pattern.name.as_str())) else { continue };
                let names =
                    |role| graphs.iter().filter(|it| it.role == role).map(|it| it.name).collect::<BTreeSet<_>>();
                patterns.push(GraphPattern {
                    id: format!("{}/{}/{}", GraphCases::GROUP, file.name(), pattern.name),
                    says: pattern.says.clone(),
                    near_misses: names(GraphRole::Near).len(),
                    contexts: names(GraphRole::Context).len(),
                    cases: graphs.len(),
                    rewritten_by: rewriting(measurements, file.name(), &pattern.name),
                });
            }
        }
        let asked = measurements.iter().filter(|it| it.rewrites().is_some()).copied().map(name).collect();
        Ok(GraphCoverage { asked, not_asked: never_asked(measurements), patterns })
    }

    /// Returns the patterns that no measured runtime rewrites.
    pub fn dead(&self) -> impl Iterator<Item = &GraphPattern> {
        self.patterns.iter().filter(|pattern| pattern.is_dead())
    }

    /// Formats a line per topic: its patterns, near misses, contexts and cases, and how many patterns are rewritten.
    pub fn topics(&self) -> Vec<String> {
        let mut topics: BTreeMap<&str, Vec<&GraphPattern>> = BTreeMap::new();
        self.patterns.iter().for_each(|pattern| topics.entry(pattern.topic()).or_default().push(pattern));
        topics.iter().map(|(topic, patterns)| format!("{topic}: {}", Sums::of(patterns.iter().copied()))).collect()
    }

    /// Formats the sums over all patterns, and the number of patterns that each measurement rewrites.
    pub fn summary(&self) -> String {
        let sums = Sums::of(&self.patterns);
        if self.asked.is_empty() {
            return format!("{sums}; no measurement says which patterns a runtime rewrites");
        }
        let dead = self.dead().count();
        let silent = match self.not_asked.as_slice() {
            [] => String::new(),
            some => format!("; not known of {}", some.join(", ")),
        };
        format!("{sums}; {dead} by no measured runtime\nmeasured: {}{silent}", self.asked.join(", "))
    }
}

/// Sums over patterns.
struct Sums {
    patterns: usize,
    near_misses: usize,
    contexts: usize,
    cases: usize,
    rewritten: usize,
}

impl Sums {
    fn of<'a>(patterns: impl IntoIterator<Item = &'a GraphPattern>) -> Sums {
        let mut sums = Sums { patterns: 0, near_misses: 0, contexts: 0, cases: 0, rewritten: 0 };
        for pattern in patterns {
            sums.patterns += 1;
            sums.near_misses += pattern.near_misses;
            sums.contexts += pattern.contexts;
            sums.cases += pattern.cases;
            sums.rewritten += usize::from(!pattern.is_dead());
        }
        sums
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sums { patterns, near_misses, contexts, cases, rewritten } = self;
        write!(
            f,
            "{patterns} patterns, {near_misses} near misses, {contexts} contexts, {cases} cases; {rewritten} patterns are rewritten"
        )
    }
}

/// Returns the newest version of each runtime that rewrites a pattern.
fn rewriting(measurements: &[&Measurement], topic: &str, pattern: &str) -> Vec<String> {
    let rewrites = |it: &&&Measurement| {
        let names = it.rewrites().and_then(|rewrites| rewrites.get(topic));
        names.is_some_and(|names| names.iter().any(|name| name == pattern))
    };
    newest_of_each(measurements.iter().filter(rewrites).copied())
}

/// Returns the newest measurement of each runtime whose measurements do not list its rewrites.
fn never_asked(measurements: &[&Measurement]) -> Vec<String> {
    let asked: BTreeSet<&str> =
        measurements.iter().filter(|it| it.rewrites().is_some()).map(|it| it.runtime()).collect();
    newest_of_each(measurements.iter().filter(|it| !asked.contains(it.runtime())).copied())
}

/// Returns the last measurement of each runtime.
fn newest_of_each<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> Vec<String> {
    let newest: BTreeMap<&str, &Measurement> = measurements.map(|it| (it.runtime(), it)).collect();
    newest.into_values().map(name).collect()
}

fn name(measurement: &Measurement) -> String {
    format!("{} {}", measurement.runtime(), measurement.version())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(runtime: &str, version: &str, rewrites: &str) -> Measurement {
        let text = format!("runtime: {runtime}\nversion: \"{version}\"\nexact: true\n{rewrites}expect: []\n");
        Measurement::read("a.yaml", &text, None).unwrap().unwrap()
    }

    #[test]
    fn a_pattern_is_dead_if_no_measured_runtime_rewrites_it() {
        let old = measurement("a", "1", "rewrites: {transposes: [pair_that_cancels, pair_that_merges]}\n");
        let new = measurement("a", "2", "rewrites: {transposes: [pair_that_cancels]}\n");
        let (none, silent) = (measurement("b", "7", "rewrites: {}\n"), measurement("c", "3", ""));
        let of = |patterns: &[&str], measurements: &[&Measurement]| {
            GraphCoverage::new(&Filter::new(patterns).unwrap(), measurements).unwrap()
        };
        let found = of(&["graph/transposes/**"], &[&old, &new, &none, &silent]);
        let by = |name: &str| {
            let id = format!("graph/transposes/{name}");
            found.patterns.iter().find(|pattern| pattern.id == id).unwrap().rewritten_by.clone()
        };
        assert_eq!(by("pair_that_cancels"), ["a 2"]);
        assert_eq!(by("pair_that_merges"), ["a 1"]);
        assert_eq!((found.asked.len(), found.not_asked.as_slice()), (3, ["c 3".to_owned()].as_slice()));
        assert_eq!(found.dead().count(), found.patterns.len() - 2);
        assert_eq!(found.topics().len(), 1);
        let summary = found.summary();
        assert!(summary.ends_with("\nmeasured: a 1, a 2, b 7; not known of c 3"), "{summary}");
        let all: usize = of(&["**"], &[]).patterns.iter().map(|pattern| pattern.cases).sum();
        assert_eq!(all, GraphCases::all_ids().count());
        assert!(of(&["**"], &[&silent]).summary().ends_with("no measurement says which patterns a runtime rewrites"));
        let good = of(&["graph/transposes/pair_that_cancels/good/*"], &[]);
        assert_eq!((good.patterns.len(), good.patterns[0].near_misses, good.patterns[0].contexts), (1, 0, 0));
    }
}
