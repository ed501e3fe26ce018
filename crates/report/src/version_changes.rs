//! Changes between two measured versions of a runtime, by operator and behaviour.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{Level, Variant};
use onnx_conformance_cases::suite::{RecordedCase, recorded_cases};
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::{Measured, Measurement};
use onnx_conformance_harness::run::{CaseResult, Outcome, ProcessorFeatures, Read};
use onnx_conformance_harness::runtimes::released;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs};
use onnx_conformance_subject::Accepted;
use serde::Serialize;

use crate::site::{CaseName, declared, name_of};

/// Outcomes of the cases from the specs on a version of a runtime.
#[derive(Debug)]
pub struct Side<'a> {
    about: SideFacts,
    source: Source<'a>,
}

/// A version of a runtime.
#[derive(Clone, Debug, Serialize)]
pub struct SideFacts {
    /// The runtime.
    pub runtime: String,
    /// Its version.
    pub version: String,
    /// Date on which the version was published; `None` if this project does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    /// Date of the measurement or of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The opsets and IR versions that it accepts; `None` if it declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepted>,
    /// Features of the processor; `None` if they were not detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorFeatures>,
}

#[derive(Debug)]
enum Source<'a> {
    Measurement(&'a Measurement),
    /// Results of a run, by id without the variant.
    Results(BTreeMap<&'a str, &'a CaseResult>),
}

/// Ending of a case on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The case was not measured, has changed since, or the standard leaves the answer open. A measurement may omit
    /// crashes in open cases, so a missing entry for an open case is not an answer.
    Unknown,
    /// The runtime was not given the case, or the outcome proves nothing.
    NotTaken,
    /// A pass or a failure.
    Judged(Judged),
}

/// Pass or failure of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Judged {
    outcome: Outcome,
    /// The largest distance of a mismatch whose outputs are only inexact, in representable values.
    ulps: Option<u64>,
}

impl Judged {
    /// Returns true if both have the same outcome, and both or neither of two mismatches are only inexact.
    fn is_like(self, other: Judged) -> bool {
        self.key() == other.key()
    }

    fn key(self) -> (Outcome, bool) {
        (self.outcome, self.ulps.is_some())
    }
}

impl Ending {
    fn new(measured: Measured, level: Level) -> Ending {
        let ulps = if let Measured::Inexact(ulps) = measured { Some(ulps) } else { None };
        match measured.outcome() {
            None if measured == Measured::NotAccepted => Ending::NotTaken,
            None => Ending::Unknown,
            Some(outcome) if outcome.is_inconclusive() => Ending::NotTaken,
            Some(outcome) if outcome.is_left_open(level) => Ending::Unknown,
            Some(outcome) => Ending::Judged(Judged { outcome, ulps }),
        }
    }

    fn judged(self) -> Option<Judged> {
        if let Ending::Judged(judged) = self { Some(judged) } else { None }
    }
}

impl<'a> Side<'a> {
    /// Creates the side of a measurement.
    pub fn from_measurement(measurement: &'a Measurement) -> Side<'a> {
        let about = SideFacts {
            runtime: measurement.runtime().to_owned(),
            version: measurement.version().to_owned(),
            released: released(measurement.runtime(), measurement.version()).map(str::to_owned),
            date: measurement.date().map(str::to_owned),
            accepts: measurement.accepts().cloned(),
            processor: measurement.processor().cloned(),
        };
        Side { about, source: Source::Measurement(measurement) }
    }

    /// Creates the side of a results file.
    pub fn from_results(read: &'a Read) -> Side<'a> {
        let about = SideFacts {
            runtime: read.header.runtime.name.clone(),
            version: read.header.runtime.version.clone(),
            released: released(&read.header.runtime.name, &read.header.runtime.version).map(str::to_owned),
            date: read.header.date.clone(),
            accepts: declared(read),
            processor: read.header.machine.features.clone(),
        };
        let by_id = read.results.iter().map(|result| (Variant::split_id(&result.id).0, result)).collect();
        Side { about, source: Source::Results(by_id) }
    }

    fn ending(&self, version: &OperatorVersion, case: &RecordedCase) -> Ending {
        let measured = match &self.source {
            Source::Measurement(measurement) => measurement.outcome(version, case),
            Source::Results(results) => match results.get(case.id.as_str()) {
                Some(result) => Measured::ended(result.outcome, result.mismatch_ulps()),
                None => Measured::Unknown,
            },
        };
        Ending::new(measured, case.facts.level)
    }
}

/// Changes between two versions in the cases from the specs, with a result that the standard decides.
#[derive(Debug, Serialize)]
pub struct VersionChanges {
    /// The older version.
    pub old: SideFacts,
    /// The newer version.
    pub new: SideFacts,
    /// Number of judged cases that both take.
    pub both: usize,
    /// Number of these with the same outcome.
    pub same: usize,
    /// Number of cases that were judged on one side only. On the other they were not measured, or not since they changed.
    pub not_compared: usize,
    /// Cases that passed and fail now.
    pub broken: Changes,
    /// Cases that failed and pass now.
    pub fixed: Changes,
    /// Cases that fail in another way: with another outcome, or with a mismatch that was or is only inexact.
    pub otherwise: Changes,
    /// Cases that only the newer version takes.
    pub newly_taken: Changes,
    /// Cases that only the older version takes.
    pub no_longer_taken: Changes,
}

/// Cases with the same kind of change.
#[derive(Debug, Default, Serialize)]
pub struct Changes {
    /// Number of cases.
    pub cases: usize,
    /// The cases by operator and outcome, the most important first.
    pub groups: Vec<ChangeGroup>,
}

/// Cases of an operator with the same outcomes.
#[derive(Debug, Serialize)]
pub struct ChangeGroup {
    /// The operator: `ai.onnx/Attention`.
    pub operator: String,
    /// Sinces of its versions with such cases.
    pub versions: BTreeSet<u32>,
    /// Outcome on the older version; `None` if it does not take the cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Outcome>,
    /// Largest distance of inexact outputs on the older version, in representable values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_ulps: Option<u64>,
    /// Outcome on the newer version; `None` if it does not take the cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Outcome>,
    /// Largest distance of inexact outputs on the newer version, in representable values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_ulps: Option<u64>,
    /// True if some of the cases are required.
    pub is_required: bool,
    /// Number of cases.
    pub cases: usize,
    /// The behaviours, those with the most cases first.
    pub behaviours: Vec<ChangedBehaviour>,
}

/// Cases with the same name in op.yaml.
#[derive(Debug, Serialize)]
pub struct ChangedBehaviour {
    /// The name: `broadcast`, `refuse/empty`.
    pub name: String,
    /// Sinces of the versions with such cases.
    pub versions: BTreeSet<u32>,
    /// Number of cases.
    pub cases: usize,
    /// Id of the first case.
    pub sample: String,
    /// Ids of the findings about the failures.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub findings: BTreeSet<String>,
}

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Broken,
    Fixed,
    Otherwise,
    NewlyTaken,
    NoLongerTaken,
}

impl Kind {
    /// Returns the title of its list.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Kind::Broken => "broken",
            Kind::Fixed => "fixed",
            Kind::Otherwise => "fail in another way",
            Kind::NewlyTaken => "newly taken",
            Kind::NoLongerTaken => "no longer taken",
        }
    }

    /// Returns the kind of a change from one ending to another; `None` if they are equal.
    fn of_change(old: Option<Judged>, new: Option<Judged>) -> Option<Kind> {
        match (old, new) {
            (None, _) => Some(Kind::NewlyTaken),
            (_, None) => Some(Kind::NoLongerTaken),
            (Some(old), Some(new)) if old.is_like(new) => None,
            (Some(old), _) if old.outcome == Outcome::Pass => Some(Kind::Broken),
            (_, Some(new)) if new.outcome == Outcome::Pass => Some(Kind::Fixed),
            _ => Some(Kind::Otherwise),
        }
    }

    /// Returns the side whose failure the change is about: the one that is left, or the one that is fixed.
    fn of_failure<T>(self, old: T, new: T) -> T {
        match self {
            Kind::Fixed | Kind::NoLongerTaken => old,
            Kind::Broken | Kind::Otherwise | Kind::NewlyTaken => new,
        }
    }
}

/// Groups by operator and outcomes. An inexact mismatch is in another group than other mismatches.
type Collected = BTreeMap<(String, [Option<(Outcome, bool)>; 2]), ChangeGroup>;

impl VersionChanges {
    /// Compares two versions. Failures get the ids of these findings.
    pub fn new(old: &Side<'_>, new: &Side<'_>, findings: &Findings) -> VersionChanges {
        let (mut both, mut same, mut not_compared) = (0, 0, 0);
        let mut kinds: BTreeMap<Kind, Collected> = BTreeMap::new();
        for version in Specs::embedded().all() {
            for case in recorded_cases(&version) {
                let endings = [old.ending(&version, case), new.ending(&version, case)];
                let [before, after] = endings.map(Ending::judged);
                if before.is_none() && after.is_none() {
                    continue;
                }
                if endings.contains(&Ending::Unknown) {
                    not_compared += 1;
                    continue;
                }
                both += usize::from(before.is_some() && after.is_some());
                let Some(kind) = Kind::of_change(before, after) else {
                    same += 1;
                    continue;
                };
                let (failure, side) = kind.of_failure((before, old), (after, new));
                let finding = failure.and_then(|it| findings.for_outcome(&side.about.runtime, &case.id, it.outcome));
                let groups = kinds.entry(kind).or_default();
                add(groups, &version, case, (before, after), finding.map(|finding| finding.id.clone()));
            }
        }
        let mut changes = |kind| Changes::new(kind, kinds.remove(&kind).unwrap_or_default());
        VersionChanges {
            old: old.about.clone(),
            new: new.about.clone(),
            both,
            same,
            not_compared,
            broken: changes(Kind::Broken),
            fixed: changes(Kind::Fixed),
            otherwise: changes(Kind::Otherwise),
            newly_taken: changes(Kind::NewlyTaken),
            no_longer_taken: changes(Kind::NoLongerTaken),
        }
    }

    /// Returns true if a case got worse: it passed before and now fails, or it had an answer before and now has none.
    pub fn is_worse(&self) -> bool {
        let has_no_answer = |outcome: Option<Outcome>| outcome.is_some_and(Outcome::is_without_answer);
        let ends_worse = |group: &ChangeGroup| has_no_answer(group.new) && !has_no_answer(group.old);
        self.broken.cases > 0 || self.otherwise.groups.iter().any(ends_worse)
    }

    /// Returns the changes by kind, the most important first.
    pub(crate) fn kinds(&self) -> [(Kind, &Changes); 5] {
        [
            (Kind::Broken, &self.broken),
            (Kind::Fixed, &self.fixed),
            (Kind::Otherwise, &self.otherwise),
            (Kind::NewlyTaken, &self.newly_taken),
            (Kind::NoLongerTaken, &self.no_longer_taken),
        ]
    }
}

fn add(
    groups: &mut Collected,
    version: &OperatorVersion,
    case: &RecordedCase,
    (old, new): (Option<Judged>, Option<Judged>),
    finding: Option<String>,
) {
    let operator = format!("{}/{}", version.domain, version.name);
    let key = (operator.clone(), [old, new].map(|judged| judged.map(Judged::key)));
    let group = groups.entry(key).or_insert_with(|| ChangeGroup {
        operator,
        versions: BTreeSet::new(),
        old: old.map(|old| old.outcome),
        old_ulps: None,
        new: new.map(|new| new.outcome),
        new_ulps: None,
        is_required: false,
        cases: 0,
        behaviours: Vec::new(),
    });
    group.versions.insert(version.since);
    group.cases += 1;
    group.old_ulps = group.old_ulps.max(old.and_then(|old| old.ulps));
    group.new_ulps = group.new_ulps.max(new.and_then(|new| new.ulps));
    group.is_required |= case.facts.level == Level::Required;
    let name = name_of(case, version);
    let name = Specs::embedded().get(version).map_or(name, |spec| CaseName::parse(name, spec).behaviour);
    let place = group.behaviours.iter().position(|behaviour| behaviour.name == name);
    let place = place.unwrap_or_else(|| {
        group.behaviours.push(ChangedBehaviour {
            name: name.to_owned(),
            versions: BTreeSet::new(),
            cases: 0,
            sample: case.id.clone(),
            findings: BTreeSet::new(),
        });
        group.behaviours.len() - 1
    });
    if let Some(behaviour) = group.behaviours.get_mut(place) {
        behaviour.versions.insert(version.since);
        behaviour.cases += 1;
        behaviour.findings.extend(finding);
    }
}

impl Changes {
    /// Sorts groups by importance: by the severity of the failure, required cases first, then by the number of cases.
    fn new(kind: Kind, groups: Collected) -> Changes {
        let mut groups: Vec<ChangeGroup> = groups.into_values().collect();
        let rank = |outcome: Option<Outcome>| outcome.map_or(0, Outcome::rank);
        groups.sort_by_key(|group| {
            (Reverse(rank(kind.of_failure(group.old, group.new))), !group.is_required, Reverse(group.cases))
        });
        for group in &mut groups {
            group.behaviours.sort_by(|a, b| (Reverse(a.cases), &a.name).cmp(&(Reverse(b.cases), &b.name)));
        }
        Changes { cases: groups.iter().map(|group| group.cases).sum(), groups }
    }

    /// Returns the number of cases per outcome on the newer version, the best first.
    pub(crate) fn outcomes(&self) -> Vec<(Outcome, usize)> {
        let mut counts: BTreeMap<(u8, Outcome), usize> = BTreeMap::new();
        for group in &self.groups {
            let Some(outcome) = group.new else { continue };
            *counts.entry((outcome.rank(), outcome)).or_default() += group.cases;
        }
        counts.into_iter().map(|((_, outcome), count)| (outcome, count)).collect()
    }
}

impl ChangeGroup {
    /// Formats the operator with its versions: `Attention-23..25`, `ai.onnx.ml/Scaler-1`.
    pub(crate) fn title(&self) -> String {
        let (domain, name) = self.operator.split_once('/').unwrap_or(("", &self.operator));
        let name = if domain == DEFAULT_DOMAIN { name } else { &self.operator };
        format!("{name}-{}", self.ranges(&self.versions))
    }

    /// Formats sinces, where adjacent versions of the operator are a range: `1, 6..13`.
    pub(crate) fn ranges(&self, versions: &BTreeSet<u32>) -> String {
        let (domain, name) = self.operator.split_once('/').unwrap_or(("", &self.operator));
        let known: Vec<u32> = Specs::embedded().versions(domain, name).collect();
        let place = |since: &u32| known.iter().position(|known| known == since);
        let versions: Vec<u32> = versions.iter().copied().collect();
        let ranges = versions.chunk_by(|a, b| place(a).map(|place| place + 1) == place(b));
        let text = |range: &[u32]| match range {
            [first, .., last] => format!("{first}..{last}"),
            _ => range.iter().map(u32::to_string).collect(),
        };
        ranges.map(text).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::result;
    use onnx_conformance_harness::run::{Header, Selected};
    use onnx_conformance_subject::Declaration;

    /// Reads a measurement of a version of onnxruntime.
    fn measurement(version: &str, opset: u32, entries: &str) -> Measurement {
        let text = format!(
            "runtime: onnxruntime\nversion: \"{version}\"\nstrict: true\nexact: true\nscope: ['ai.onnx/Abs-*', 'ai.onnx/Gather-*']\n\
             accepts: {{ir: [3, 14], opsets: {{ai.onnx: [1, {opset}]}}}}\nexpect:\n{entries}"
        );
        Measurement::read("a.yaml", &text, None).unwrap().unwrap()
    }

    fn compare(old: &Measurement, new: &Measurement) -> VersionChanges {
        let findings = Findings::embedded().unwrap();
        VersionChanges::new(&Side::from_measurement(old), &Side::from_measurement(new), findings)
    }

    #[test]
    fn changes_are_grouped_by_operator_and_behaviour() {
        let old = measurement(
            "1",
            26,
            "  - {cases: 'ai.onnx/Abs-*/beyond_float/**', outcome: mismatch}\n  \
             - {cases: 'ai.onnx/Abs-13/known_values/T=float', outcome: error}\n  \
             - {cases: 'ai.onnx/Gather-13/every_axis/**/T=string,*', outcome: mismatch}\n",
        );
        let new = measurement(
            "2",
            26,
            "  - {cases: 'ai.onnx/Abs-6/known_values/**', outcome: error}\n  \
             - {cases: 'ai.onnx/Abs-13/known_values/**', outcome: error}\n  \
             - {cases: 'ai.onnx/Abs-1/extremes/T=float', outcome: crash}\n",
        );
        let changes = compare(&old, &new);
        let [crash, error] = &changes.broken.groups[..] else { panic!("{changes:?}") };
        assert_eq!((crash.title().as_str(), crash.new), ("Abs-1", Some(Outcome::Crash)));
        assert_eq!(
            (error.title().as_str(), error.old, error.new),
            ("Abs-6..13", Some(Outcome::Pass), Some(Outcome::Error))
        );
        let [known] = &error.behaviours[..] else { panic!("{error:?}") };
        assert_eq!((known.name.as_str(), &known.versions), ("known_values", &BTreeSet::from([6, 13])));
        assert_eq!(known.cases + 1, changes.broken.cases);
        let gather = changes.fixed.groups.iter().find(|group| group.title() == "Gather-13").unwrap();
        assert!(gather.behaviours[0].findings.contains("gather-strings"), "{gather:?}");
        assert!(changes.fixed.groups.iter().any(|group| group.title() == "Abs-1..13"), "{changes:?}");
        assert_eq!(changes.both, changes.same + changes.broken.cases + changes.fixed.cases + changes.otherwise.cases);
        assert!(
            changes.is_worse()
                && compare(&new, &new).both == compare(&new, &new).same
                && !compare(&new, &new).is_worse()
        );
    }

    #[test]
    fn inexact_mismatches_have_their_distance_and_are_apart_from_others() {
        let entry = |name: &str, rest: &str| format!("  - {{cases: 'ai.onnx/Abs-13/{name}', outcome: {rest}}}\n");
        let (near, far) = ("known_values/T=float", "known_values/T=double");
        let old = measurement("1", 26, &(entry(near, "mismatch, ulp: 2") + &entry(far, "mismatch, ulp: 1")));
        let new = measurement("2", 26, &(entry(near, "mismatch, ulp: 5") + &entry(far, "mismatch")));
        let changes = compare(&old, &new);
        let [worse] = &changes.otherwise.groups[..] else { panic!("{changes:?}") };
        assert_eq!((worse.old, worse.old_ulps), (Some(Outcome::Mismatch), Some(1)));
        assert_eq!((worse.new, worse.new_ulps, worse.cases), (Some(Outcome::Mismatch), None, 1));
        let text = changes.text(30);
        assert!(text.contains("Abs-13  mismatch by 1 ULP -> mismatch  known_values (1)"), "{text}");
        let fixed = compare(&old, &measurement("2", 26, "  []\n")).text(30);
        assert!(fixed.contains("Abs-13  mismatch by up to 2 ULP -> pass  known_values (2)"), "{fixed}");
        let json = serde_json::to_value(compare(&measurement("0", 26, "  []\n"), &old)).unwrap();
        assert_eq!(json["broken"]["groups"][0]["new_ulps"], 2, "{json:#}");
    }

    #[test]
    fn cases_of_an_opset_that_one_does_not_take_are_neither_fixed_nor_broken() {
        let (old, new) = (
            measurement("1", 12, "  []\n"),
            measurement("2", 26, "  - {cases: 'ai.onnx/Abs-13/**', outcome: unsupported}\n"),
        );
        let changes = compare(&old, &new);
        assert_eq!((changes.broken.cases, changes.fixed.cases), (0, 0), "{changes:?}");
        let abs = changes.newly_taken.groups.iter().find(|group| group.title() == "Abs-13").unwrap();
        assert_eq!((abs.old, abs.new), (None, Some(Outcome::Unsupported)));
        assert!(changes.newly_taken.groups.iter().any(|group| group.new == Some(Outcome::Pass)));
        let back = compare(&new, &old);
        assert_eq!((back.no_longer_taken.cases, back.newly_taken.cases), (changes.newly_taken.cases, 0));
        assert!(!back.is_worse());
    }

    #[test]
    fn a_results_file_is_compared_with_a_measurement() {
        let old = measurement("1", 26, "  - {cases: ai.onnx/Abs-13/known_values/T=float, outcome: error}\n");
        let results = vec![
            result("ai.onnx/Abs-13/known_values/T=float", Outcome::Pass),
            result("ai.onnx/Abs-13/known_values/T=double", Outcome::Mismatch),
            result("ai.onnx/Abs-13/extremes/T=double", Outcome::Pass),
        ];
        let header = Header::new(Declaration::named("onnxruntime", "2"), "d".to_owned(), Selected::default());
        let read = Read { header, results, is_torn: false };
        let findings = Findings::embedded().unwrap();
        let changes = VersionChanges::new(&Side::from_measurement(&old), &Side::from_results(&read), findings);
        assert_eq!((changes.fixed.cases, changes.broken.cases, changes.same), (1, 1, 1));
        assert_eq!(changes.broken.groups[0].behaviours[0].sample, "ai.onnx/Abs-13/known_values/T=double");
        assert!(changes.not_compared > 100, "{}", changes.not_compared);
    }

    #[test]
    fn an_open_case_is_compared_only_if_neither_side_gives_an_answer() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 13);
        let open = recorded_cases(&version).iter().find(|case| case.facts.level == Level::Open).unwrap();
        let entry = |outcome: &str| format!("  - {{cases: {}, outcome: {outcome}}}\n", open.id);
        let (crash, hang) = (measurement("1", 26, &entry("crash")), measurement("2", 26, &entry("timeout")));
        let unsaid = compare(&crash, &measurement("2", 26, "  []\n"));
        assert_eq!((unsaid.fixed.cases, unsaid.not_compared), (0, 1), "{unsaid:?}");
        let changed = compare(&crash, &hang);
        assert_eq!((changed.otherwise.cases, changed.not_compared), (1, 0), "{changed:?}");
        assert!(!changed.is_worse());
    }
}
