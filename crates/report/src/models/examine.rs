//! Checks a model file, including its behaviour at other opsets and on runtimes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use onnx_conformance_cases::case::{MAX_BINARY, read_stdin};
use onnx_conformance_check::convert::{Target, convert_inferred, convert_within};
use onnx_conformance_check::finding::Described;
use onnx_conformance_check::infer::{BodyId, Inferred, infer_facts};
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::validity::{IrFacts, ModelFacts};
use onnx_conformance_check::{Folder, Limits, Source, check};
use onnx_conformance_reference::proto::{ModelProto, Text, ValueInfoProto};
use onnx_conformance_reference::spec::{OperatorVersion, Specs, canonical_domain};

use crate::models::files::{ModelFile, ModelFolder, is_stdin, model_name};
use crate::models::probe::RuntimeProbe;
use crate::models::questions::CheckQuestions;
use crate::models::report::{Answer, ModelReport, Status, TargetReport};
use crate::models::runtimes::{AskedRuntime, NodeKinds, RuntimeReport, RuntimeVerdict};
use crate::models::single_node::Origin;
use crate::models::summary::ModelSummary;

/// Maximum number of nodes of a model that is tried at every opset.
const MAX_TRIED: usize = 20_000;

/// Checks a model file, or the model on standard input. Always returns a report, even if the file cannot be read or the program
/// panics on it, so that other files are still checked.
pub fn examine(path: &Path, questions: &CheckQuestions, limits: &Limits) -> ModelReport {
    let file = model_name(path);
    catching(&file, || examine_file(path, questions, limits))
}

/// Returns the report, or a report of a failure of this program.
fn catching(file: &str, report: impl FnOnce() -> ModelReport) -> ModelReport {
    // Files share only the measurements, which are immutable, and hosts, which have their own locks.
    std::panic::catch_unwind(AssertUnwindSafe(report)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let verdict = format!(
            "onnx-conformance {} failed on this file, which is a bug in the program: {text}; please report it, with the file if \
             you can share it",
            env!("CARGO_PKG_VERSION"),
        );
        ModelReport { status: Status::Failed, ..unreadable(file.to_owned(), verdict) }
    })
}

fn examine_file(path: &Path, questions: &CheckQuestions, limits: &Limits) -> ModelReport {
    let file = model_name(path);
    let source: io::Result<Box<dyn Source>> = if is_stdin(path) {
        let most = u64::try_from(limits.bytes).unwrap_or(u64::MAX).min(MAX_BINARY);
        read_stdin(most).map(|bytes| Box::new(bytes) as Box<dyn Source>)
    } else {
        ModelFile::open(path).map(|file| Box::new(file) as Box<dyn Source>)
    };
    let source = match source {
        Ok(source) => source,
        Err(error) => return unreadable(file, format!("cannot be read: {error}")),
    };
    let model = NamedModel { name: &file, bytes: source.as_ref(), folder: Some(&ModelFolder::for_model(path)) };
    examine_source(&model, questions, limits)
}

/// A model to check.
#[derive(Clone, Copy)]
pub struct NamedModel<'a> {
    /// Name of the model in its report.
    pub name: &'a str,
    /// Bytes of the model.
    pub bytes: &'a dyn Source,
    /// Folder of the files with external data. Without a folder, these files are not checked.
    pub folder: Option<&'a dyn Folder>,
}

/// Checks a model that is read from bytes.
pub fn examine_source(model: &NamedModel<'_>, questions: &CheckQuestions, limits: &Limits) -> ModelReport {
    let NamedModel { name: file, bytes, folder } = *model;
    let report = check(bytes, folder, limits);
    let Some((facts, scan)) = report.facts.zip(report.scan) else {
        let first = report.findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        return ModelReport { findings: report.findings, ..unreadable(file.to_owned(), first) };
    };
    let has_errors = report.findings.iter().any(|finding| finding.level == Level::Error);
    let target = (questions.asks_for_conversion() && !has_errors).then(|| target_of(&scan.model, questions, limits));
    let mut all = ModelReport {
        file: file.to_owned(),
        status: if has_errors { Status::Findings } else { Status::Valid },
        verdict: String::new(),
        findings: report.findings,
        same_operators: same_operators(&facts),
        unedited: if has_errors || questions.asks_for_conversion() || questions.asks_about_runtimes() {
            BTreeMap::new()
        } else {
            unedited(&scan.model, &facts, limits)
        },
        runtimes: Vec::new(),
        saved: None,
        values: None,
        summary: None,
        facts: None,
        target,
    };
    let asks_about_runtimes = if has_errors { !questions.probes.is_empty() } else { questions.asks_about_runtimes() };
    if asks_about_runtimes || questions.save.is_some() || questions.shapes || questions.summary {
        let inferred = infer_facts(&scan.model, limits);
        all.values = questions.shapes.then(|| values(&inferred, &scan.model));
        all.summary = questions.summary.then(|| ModelSummary::new(&inferred));
        let home = folder.and_then(|_| Path::new(file).parent());
        let origin = Origin { scan: &scan, inferred: &inferred, file: bytes, home };
        if asks_about_runtimes {
            let of_invalid = |probe: &RuntimeProbe| RuntimeReport::of_invalid(probe, &origin, limits);
            all.runtimes = if has_errors {
                questions.probes.iter().map(of_invalid).collect()
            } else {
                on_runtimes(&origin, &facts, questions, limits)
            };
        }
        // Nodes of an invalid model are saved by their findings.
        let runtimes: &[RuntimeReport] = if has_errors { &[] } else { &all.runtimes };
        all.saved =
            questions.save.as_ref().map(|saving| saving.save(Path::new(file), &origin, &all.findings, runtimes));
    }
    all.facts = Some(facts);
    if all.runtimes.iter().any(|runtime| runtime.verdict >= RuntimeVerdict::WrongSomewhere) {
        all.status = Status::Findings;
    }
    if all.target.as_ref().is_some_and(|target| target.answer == Answer::Cannot) {
        all.status = Status::Findings;
    }
    all.verdict = verdict(&all, questions);
    all
}

/// Describes the inputs of the main graph and the outputs of its nodes, in order.
fn values(inferred: &Inferred<'_>, model: &ModelProto) -> Vec<Described> {
    let Some(graph) = &model.graph else { return Vec::new() };
    let inputs = graph.input.iter().map(ValueInfoProto::name);
    let outputs = graph.node.iter().flat_map(|node| &node.output).map(Text::as_str);
    let names = inputs.chain(outputs).filter(|name| !name.is_empty());
    names.map(|name| Described::new(name, inferred.value(BodyId::MAIN, name))).collect()
}

fn unreadable(file: String, verdict: String) -> ModelReport {
    ModelReport {
        file,
        status: Status::Unreadable,
        verdict,
        findings: Vec::new(),
        facts: None,
        same_operators: BTreeMap::new(),
        unedited: BTreeMap::new(),
        target: None,
        runtimes: Vec::new(),
        saved: None,
        values: None,
        summary: None,
    }
}

/// Reports what the requested runtimes do with a valid model.
fn on_runtimes(
    origin: &Origin<'_>,
    facts: &ModelFacts,
    questions: &CheckQuestions,
    limits: &Limits,
) -> Vec<RuntimeReport> {
    let nodes = NodeKinds::from_inferred(origin.inferred);
    let measured = questions.runtimes.iter().map(|measurement| AskedRuntime::Measured(measurement));
    let runtimes = measured.chain(questions.probes.iter().map(AskedRuntime::Started));
    runtimes.map(|runtime| RuntimeReport::new(&runtime, facts, &nodes, origin, limits)).collect()
}

fn target_of(model: &ModelProto, questions: &CheckQuestions, limits: &Limits) -> TargetReport {
    let pairs = |places: Vec<onnx_conformance_check::convert::PlacedEdit>| {
        places.into_iter().map(|edit| (edit.place, edit.text)).collect::<Vec<_>>()
    };
    let (edits, reasons) = match convert_within(model, &questions.target(model), limits) {
        Ok(conversion) => (pairs(conversion.edits), Vec::new()),
        Err(refusal) => (Vec::new(), pairs(refusal.reasons)),
    };
    let answer = match () {
        () if !reasons.is_empty() => Answer::Cannot,
        () if edits.iter().any(|(place, _)| place != MODEL) => Answer::Edits,
        () => Answer::RelabelOnly,
    };
    TargetReport { label: questions.label.clone(), answer, edits, reasons }
}

/// Place of edits to the opset and IR version numbers of the file.
const MODEL: &str = "model";

/// Returns the range of opsets per domain at which every node has the same operator version.
fn same_operators(facts: &ModelFacts) -> BTreeMap<String, [i64; 2]> {
    let specs = Specs::embedded();
    let mut ranges: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    for (domain, opset) in &facts.opsets {
        if let Ok(newest) = specs.newest_opset(domain)
            && (1..=i64::from(newest)).contains(opset)
        {
            ranges.insert(canonical_domain(domain).to_owned(), [1, i64::from(newest)]);
        }
    }
    for version in facts.operators.keys().filter_map(|operator| operator.parse::<OperatorVersion>().ok()) {
        if let (Some(range), Ok(opsets)) = (ranges.get_mut(&version.domain), specs.opsets(&version)) {
            range[0] = range[0].max(i64::from(*opsets.start()));
            range[1] = range[1].min(i64::from(*opsets.end()));
        }
    }
    ranges
}

/// Returns the range of opsets per domain at which no node has to change, if the other domains keep their opset.
fn unedited(model: &ModelProto, facts: &ModelFacts, limits: &Limits) -> BTreeMap<String, [i64; 2]> {
    let mut ranges = BTreeMap::new();
    if facts.nodes > MAX_TRIED {
        return ranges;
    }
    let inferred = infer_facts(model, limits);
    for (domain, &opset) in &facts.opsets {
        let Ok(newest) = Specs::embedded().newest_opset(domain) else { continue };
        let newest = i64::from(newest);
        let holds = |opset: i64| {
            let opsets = BTreeMap::from([(canonical_domain(domain).to_owned(), opset)]);
            let target = Target { opsets, ir: None, relabel_only: true };
            convert_inferred(&inferred, &target, &limits.deadline).is_ok()
        };
        if (1..=newest).contains(&opset) {
            let first = (1..opset).rev().take_while(|opset| holds(*opset)).last().unwrap_or(opset);
            let last = (opset + 1..=newest).take_while(|opset| holds(*opset)).last().unwrap_or(opset);
            ranges.insert(canonical_domain(domain).to_owned(), [first, last]);
        }
    }
    // A range that was cut short by the deadline would be too small.
    if limits.deadline.is_over() { BTreeMap::new() } else { ranges }
}

/// Summarizes the report in one line.
fn verdict(report: &ModelReport, questions: &CheckQuestions) -> String {
    let errors = report.count(Level::Error);
    if let Some(first) = report.findings.first().filter(|_| errors > 0) {
        let cause = match &first.place.node {
            Some(node) => format!("{node}: {}", first.message),
            None => first.message.clone(),
        };
        let cause = if errors == 1 { cause } else { format!("{errors} errors, the first: {cause}") };
        let runtimes = report.runtimes.iter().map(RuntimeReport::line);
        let unanswered = (!questions.runtimes.is_empty())
            .then(|| "results of runtimes are known for valid models; --probe runs this one anyway".to_owned());
        return [cause].into_iter().chain(runtimes).chain(unanswered).collect::<Vec<_>>().join("; ");
    }
    if !report.runtimes.is_empty() && !questions.asks_for_conversion() {
        return report.runtimes.iter().map(RuntimeReport::line).collect::<Vec<_>>().join("; ");
    }
    let ir = report.facts.as_ref().zip(questions.ir).map(|(facts, requested)| ir_verdict(&facts.ir, requested));
    if let (Some(line), true) = (&ir, questions.opsets.is_empty()) {
        return line.clone();
    }
    let answer = report.target.as_ref().map(|target| format!("{}: {}", target.label, target_verdict(target)));
    match (answer, report.count(Level::Warning)) {
        (Some(answer), _) => answer,
        (None, 0) => "valid".to_owned(),
        (None, 1) => "valid, with a warning".to_owned(),
        (None, count) => format!("valid, with {count} warnings"),
    }
}

fn target_verdict(target: &TargetReport) -> String {
    let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let first = |items: &[(String, String)]| {
        items.iter().find(|(place, _)| place != MODEL).or(items.first()).map(|(place, text)| format!("{place}: {text}"))
    };
    match target.answer {
        Answer::RelabelOnly => "relabel only".to_owned(),
        Answer::Edits => {
            format!("{}: {}", many(places(&target.edits), "edit"), first(&target.edits).unwrap_or_default())
        }
        Answer::Cannot if target.reasons.iter().all(|(place, _)| place == MODEL) => {
            let reasons: Vec<&str> = target.reasons.iter().map(|(_, reason)| reason.as_str()).collect();
            format!("not possible: {}", reasons.join("; "))
        }
        Answer::Cannot => {
            format!("{} cannot: {}", many(places(&target.reasons), "node"), first(&target.reasons).unwrap_or_default())
        }
    }
}

/// Counts the nodes that edits or reasons are about. At least 1, for edits that change only the file.
fn places(items: &[(String, String)]) -> usize {
    let places: BTreeSet<&str> = items.iter().map(|(place, _)| place.as_str()).collect();
    places.iter().filter(|place| **place != MODEL).count().max(1)
}

/// Describes whether a file can have an IR version, and the reason if it cannot.
fn ir_verdict(ir: &IrFacts, requested: i64) -> String {
    let lowest = ir.lowest;
    let because = ir.because.first().map(|need| format!(" because of {}", need.what)).unwrap_or_default();
    match ir.declared {
        Some(declared) if requested < lowest => {
            format!("needs IR {lowest} or newer{because}; IR {requested} is not enough (the file declares {declared})")
        }
        Some(declared) if requested < declared => {
            let skipped: Vec<&str> = ir.skipped_at(requested).map(|need| need.what.as_str()).collect();
            let skipped = match skipped.join(", ") {
                skipped if skipped.is_empty() => skipped,
                skipped => format!("; readers of IR {requested} skip {skipped}"),
            };
            format!(
                "needs IR {lowest} or newer; set ir_version to {requested}: nothing in the file needs {declared}{skipped}"
            )
        }
        Some(declared) => {
            format!("IR {declared} is not newer than {requested}; the file needs {lowest} or newer{because}")
        }
        None => format!("the file declares no IR version; it needs {lowest} or newer{because}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_the_report_on_one_file() {
        let report = catching("m.onnx", || panic!("index 3 of {}", 2));
        assert_eq!((report.status, report.file.as_str()), (Status::Failed, "m.onnx"));
        assert!(report.verdict.contains("a bug in the program: index 3 of 2; please report it"), "{}", report.verdict);
        assert!(report.verdict.contains(env!("CARGO_PKG_VERSION")), "{}", report.verdict);
    }
}
