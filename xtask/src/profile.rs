//! The list of the profile `pr`: chosen cases that detect most of what the whole suite detects.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use onnx_conformance_cases::case::{CaseId, Level, WRAPPED};
use onnx_conformance_cases::suite::{Filter, GraphId, Profile, RecordedCase, SUITE_VERSION, Suite, recorded_cases};
use onnx_conformance_faults::{all, measure};
use onnx_conformance_harness::measure::{Measurement, Measurements};
use onnx_conformance_harness::promises::FrozenList;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of cases
    #[arg(long, default_value_t = 6_000)]
    cases: usize,

    /// Write nothing, and print what the committed list detects
    #[arg(long)]
    check: bool,
}

/// Failures of one kind: the runtime, where it fails, and the outcome.
type Failure = (&'static str, String, Outcome);

/// An item that a case shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Shown {
    /// An operator version runs.
    Version(String),
    /// A type occurs.
    Type(String),
    /// An operator takes a type.
    OperatorType(String),
    /// A measured runtime fails.
    Failure(Failure),
    /// A measured runtime fails in a behaviour of an operator, in any version.
    FailureOfBehaviour(Failure),
    /// A seeded fault is detected.
    Fault(String),
    /// A behaviour of an operator.
    Behaviour(String),
}

impl Shown {
    /// Returns how much it counts. Every version and every type is in the profile, and failures precede the rest.
    fn weight(&self) -> u64 {
        match self {
            Shown::Version(_) | Shown::Type(_) => 1_000,
            Shown::Failure(_) | Shown::Fault(_) => 10,
            Shown::FailureOfBehaviour(_) => 2,
            Shown::OperatorType(_) | Shown::Behaviour(_) => 1,
        }
    }
}

/// The cases, each with the items that it shows, as positions in a list.
struct Cases {
    ids: Vec<String>,
    shown: Vec<Shown>,
    by_case: Vec<Vec<usize>>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    let cases = Cases::read(&suite)?;
    let path = path();
    if arguments.check {
        let chosen: BTreeSet<usize> =
            (0..cases.ids.len()).filter(|&case| Profile::Pr.includes(&cases.ids[case])).collect();
        cases.report(&chosen);
        return Ok(());
    }
    ensure!(
        FrozenList::versions().all(|version| version != SUITE_VERSION),
        "suite {SUITE_VERSION} is frozen, and so is {}. Raise SUITE_VERSION in crates/cases/src/suite/version.rs",
        path.display()
    );
    let chosen = cases.choose(arguments.cases, &|_| true);
    cases.report(&chosen);
    fs::write(&path, cases.text(&chosen)).with_context(|| path.display().to_string())?;
    anstream::println!("wrote {}: {} cases", path.display(), chosen.len());
    Ok(())
}

fn path() -> PathBuf {
    workspace::root().join("profiles/pr.txt")
}

impl Cases {
    /// Reads the default cases of the suite, and their results on measured runtimes.
    fn read(suite: &Suite) -> anyhow::Result<Cases> {
        let ids = suite.ids(&Filter::default())?;
        let (mut failures, mut faults) = (failures(&ids)?, faults()?);
        let (mut places, mut by_case): (HashMap<Shown, usize>, Vec<Vec<usize>>) = (HashMap::new(), Vec::new());
        for id in &ids {
            let mut shown = traits(id);
            shown.extend(faults.remove(id).into_iter().flatten().map(Shown::Fault));
            for (runtime, outcome) in failures.remove(id.as_str()).into_iter().flatten() {
                let parsed = CaseId::parse(id);
                shown.push(Shown::Failure((runtime, place(parsed), outcome)));
                shown.push(Shown::FailureOfBehaviour((runtime, behaviour(parsed), outcome)));
            }
            let place = |shown: Shown| {
                let next = places.len();
                *places.entry(shown).or_insert(next)
            };
            by_case.push(shown.into_iter().map(place).collect());
        }
        let mut sorted: Vec<(Shown, usize)> = places.into_iter().collect();
        sorted.sort_by_key(|(_, place)| *place);
        let shown = sorted.into_iter().map(|(shown, _)| shown).collect();
        Ok(Cases { ids, shown, by_case })
    }

    /// Chooses at most this many cases, each time the one that adds the most items that count.
    fn choose(&self, most: usize, counts: &dyn Fn(&Shown) -> bool) -> BTreeSet<usize> {
        let weights: Vec<u64> = self.shown.iter().map(|shown| if counts(shown) { shown.weight() } else { 0 }).collect();
        let mut is_shown = vec![false; self.shown.len()];
        let gain = |case: usize, is_shown: &[bool]| -> u64 {
            self.by_case[case].iter().filter(|&&place| !is_shown[place]).map(|&place| weights[place]).sum()
        };
        // A gain only falls, so one that is still the greatest after it is computed anew is the greatest.
        let first = |case: usize| (gain(case, &is_shown), Reverse(case));
        let mut heap: BinaryHeap<(u64, Reverse<usize>)> = (0..self.ids.len()).map(first).collect();
        let mut chosen = BTreeSet::new();
        while chosen.len() < most
            && let Some((before, Reverse(case))) = heap.pop()
            && before > 0
        {
            let now = gain(case, &is_shown);
            if now < before {
                heap.push((now, Reverse(case)));
                continue;
            }
            chosen.insert(case);
            for &place in &self.by_case[case] {
                is_shown[place] = true;
            }
        }
        chosen
    }

    /// Prints how much of each kind the chosen cases show, and how much of a runtime's failures a choice without its measurements
    /// would show.
    fn report(&self, chosen: &BTreeSet<usize>) {
        let is_shown = self.shown_by(chosen);
        let share = |name: &str, is_meant: &dyn Fn(&Shown) -> bool, is_shown: &[bool]| {
            let meant: Vec<usize> = (0..self.shown.len()).filter(|&place| is_meant(&self.shown[place])).collect();
            let shown = meant.iter().filter(|&&place| is_shown[place]).count();
            (name.to_owned(), meant.len(), shown, 100.0 * shown as f64 / meant.len().max(1) as f64)
        };
        let mut rows = vec![
            share("operator versions", &|shown| matches!(shown, Shown::Version(_)), &is_shown),
            share("types", &|shown| matches!(shown, Shown::Type(_)), &is_shown),
            share("types of operators", &|shown| matches!(shown, Shown::OperatorType(_)), &is_shown),
            share("behaviours", &|shown| matches!(shown, Shown::Behaviour(_)), &is_shown),
            share("seeded faults", &|shown| matches!(shown, Shown::Fault(_)), &is_shown),
            share("failures by behaviour", &|shown| matches!(shown, Shown::FailureOfBehaviour(_)), &is_shown),
            share("failures by version", &|shown| matches!(shown, Shown::Failure(_)), &is_shown),
        ];
        let runtimes: BTreeSet<&str> = self.shown.iter().filter_map(Shown::runtime).collect();
        for runtime in runtimes {
            let is_of = |shown: &Shown| matches!(shown, Shown::Failure((name, ..)) if *name == runtime);
            rows.push(share(&format!("  of {runtime}"), &is_of, &is_shown));
            let without = self.shown_by(&self.choose(chosen.len(), &|shown| shown.runtime() != Some(runtime)));
            rows.push(share("    chosen without it", &is_of, &without));
        }
        anstream::println!("{:<28} {:>7} {:>7} {:>7}", "", "all", "shown", "share");
        for (name, all, shown, share) in rows {
            anstream::println!("{name:<28} {all:>7} {shown:>7} {share:>6.1}%");
        }
    }

    /// Returns which items the chosen cases show.
    fn shown_by(&self, chosen: &BTreeSet<usize>) -> Vec<bool> {
        let mut is_shown = vec![false; self.shown.len()];
        for &place in chosen.iter().flat_map(|&case| &self.by_case[case]) {
            is_shown[place] = true;
        }
        is_shown
    }

    /// Formats the list.
    fn text(&self, chosen: &BTreeSet<usize>) -> String {
        let mut text = format!(
            "# Profile `pr` of suite {SUITE_VERSION}, chosen by `cargo xtask profile` among all cases: every operator version, every type\n\
             # of an operator, then what shows most failures of measured runtimes and most behaviours.\n"
        );
        for &case in chosen {
            let _ = writeln!(text, "{}", self.ids[case]);
        }
        text
    }
}

impl Shown {
    /// Returns the runtime that fails.
    fn runtime(&self) -> Option<&'static str> {
        match self {
            Shown::Failure((runtime, ..)) | Shown::FailureOfBehaviour((runtime, ..)) => Some(runtime),
            _ => None,
        }
    }
}

/// Returns the items that a case shows, by its id.
fn traits(id: &str) -> Vec<Shown> {
    let parsed = CaseId::parse(id);
    let mut shown = vec![Shown::Behaviour(behaviour(parsed))];
    shown.extend(types(parsed).map(|named| Shown::Type(named.to_owned())));
    if let Some(version) = parsed.version() {
        shown.push(Shown::Version(version.qualified()));
        let of_operator = |named| Shown::OperatorType(format!("{}/{} {named}", version.domain, version.name));
        shown.extend(types(parsed).map(of_operator));
    }
    shown
}

/// Returns the types in the id of a case: `float`, `seq.int64`. The last part of some ids names sizes instead.
fn types(id: CaseId<'_>) -> impl Iterator<Item = &str> {
    let is_type = |named: &&str| named.rsplit('.').next().unwrap_or(named).parse::<ElementType>().is_ok();
    id.types().map(|(_, named)| named).filter(is_type)
}

/// Returns the behaviour that a case is about: the operator with the first part of the name; the place of another case.
fn behaviour(id: CaseId<'_>) -> String {
    let Some(version) = id.version() else { return place(id) };
    let part = id.name().split(['/', '@']).next().unwrap_or_default();
    format!("{}/{}/{part}", version.domain, version.name)
}

/// Returns the operator version of a case, the pattern of its graph, the operator between no-ops, or the folder.
fn place(id: CaseId<'_>) -> String {
    if let Some(version) = id.version() {
        return version.qualified();
    }
    if let Some(wrapped) = id.path.strip_prefix(WRAPPED) {
        return format!("{WRAPPED}{}", CaseId::parse(wrapped).group());
    }
    match GraphId::parse(id.path) {
        Some(graph) => format!("graph/{}/{}", graph.topic, graph.pattern),
        None => id.folders().next_back().unwrap_or(id.path).to_owned(),
    }
}

/// Returns the failures that each case shows, of every measured version of a runtime.
fn failures(ids: &[String]) -> anyhow::Result<HashMap<&str, BTreeSet<(&'static str, Outcome)>>> {
    let measurements = Measurements::embedded();
    let records: HashMap<&str, (OperatorVersion, &RecordedCase)> = Specs::embedded()
        .all()
        .flat_map(|version| {
            recorded_cases(&version).iter().map(move |case| (case.id.as_str(), (version.clone(), case)))
        })
        .collect();
    let mut found: HashMap<&str, BTreeSet<(&'static str, Outcome)>> = HashMap::new();
    for (runtime, versions) in measurements.runtimes() {
        for version in versions {
            let measurement = measurements.get(runtime, version)?.context("a listed measurement is missing")?;
            for id in ids {
                if let Some(outcome) = failure(measurement, id, records.get(id.as_str())) {
                    found.entry(id).or_default().insert((runtime, outcome));
                }
            }
        }
    }
    Ok(found)
}

/// Returns the names of the seeded faults that each case is the first to detect.
fn faults() -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for verdict in measure(all(), &|_| true)? {
        if let Some((id, _)) = verdict.noticed {
            found.entry(id).or_default().push(verdict.fault.to_string());
        }
    }
    Ok(found)
}

/// Returns the outcome of a case that a version of a runtime fails, if it counts.
fn failure(measurement: &Measurement, id: &str, record: Option<&(OperatorVersion, &RecordedCase)>) -> Option<Outcome> {
    let outcome = match record {
        Some((version, case)) => measurement.outcome(version, case).outcome()?,
        None => measurement.result(id)?.outcome,
    };
    let level = record.map_or(Level::Required, |(_, case)| case.facts.level);
    let is_failure = outcome.counts(level, false) && outcome != Outcome::Pass && !outcome.is_inconclusive();
    is_failure.then_some(outcome)
}
