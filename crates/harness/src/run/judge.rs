//! Judging: runs one case on one runtime and determines the outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use onnx_conformance_cases::case::{Case, DataSet, ExpectedOutput, Refusal, Variant, named_cells};
use onnx_conformance_cases::compare::{Agreement, Difference, DifferenceKind, Distance, UsedBound, all_of};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::message::MAX_MESSAGE;
use onnx_conformance_subject::{Ask, Declaration, Ended, Host, Question, Ran, Request, Response, has_external_data};

use crate::questions;
use crate::run::summary::{summarize_inputs, summarize_nodes};
use crate::run::{CaseResult, Outcome, undeclared_feature};

/// Runs a case on a runtime and judges the result. A case that needs an undeclared feature is not sent.
pub fn judge(case: &Case, runtime: &dyn Host, declaration: &Declaration) -> CaseResult {
    if let Some(what) = undeclared_feature(case, declaration) {
        let message = format!("{what} is not declared");
        return CaseResult { outcome: Outcome::NotDeclared, message, ..CaseResult::for_case(case) };
    }
    let started = Instant::now();
    let (_, variant) = Variant::split_id(&case.id);
    let mut result = match &case.refusal {
        _ if variant.question() != Question::Run => questions::judge(case, runtime),
        Some(refusal) => judge_refusal(case, refusal, runtime, declaration),
        None => judge_outputs(case, runtime),
    };
    result.ms = started.elapsed().as_secs_f64() * 1e3;
    if result.outcome != Outcome::Pass || result.executed_cells.is_empty() {
        result.declared_cells = declared_cells(case);
    }
    if result.outcome != Outcome::Pass && !result.outcome.is_inconclusive() {
        result.nodes = shortened(summarize_nodes(case));
        result.inputs = summarize_inputs(case);
    }
    result.message = shortened(std::mem::take(&mut result.message));
    result.missing = result.missing.map(shortened);
    result.flaky = result.flaky.map(shortened);
    result
}

/// Shortens a message of a runtime, and adds the number of omitted characters. All results of a run are kept in memory.
fn shortened(message: String) -> String {
    /// Space for the end, which gives the number of omitted characters.
    const END: usize = 40;
    if message.len() <= MAX_MESSAGE || message.chars().count() <= MAX_MESSAGE {
        return message;
    }
    let end = message.char_indices().nth(MAX_MESSAGE - END).map_or(message.len(), |(end, _)| end);
    let (start, rest) = message.split_at(end);
    format!("{start}... ({} more characters)", rest.chars().count())
}

/// Judges as [`judge`] does. A `doubtful` result is re-run in a fresh process, since an earlier case may have left its process
/// broken. The second run counts.
pub fn judge_twice(
    case: &Case,
    runtime: &dyn Host,
    declaration: &Declaration,
    doubtful: &dyn Fn(&CaseResult) -> bool,
) -> CaseResult {
    let first = judge(case, runtime, declaration);
    if !doubtful(&first) {
        return first;
    }
    let alone = Alone { host: runtime, was_alone: AtomicBool::new(false) };
    let second = judge(case, &alone, declaration);
    if !alone.was_alone.into_inner() {
        return first;
    }
    let changed = second.outcome != first.outcome;
    let earlier = changed.then(|| format!("{}: {}", first.outcome, first.message).trim_end_matches(": ").to_owned());
    CaseResult { flaky: earlier.or(second.flaky).map(shortened), ..second }
}

/// A runtime that runs each request in a fresh process.
struct Alone<'a> {
    host: &'a dyn Host,
    /// True if any request ran in such a process.
    was_alone: AtomicBool,
}

impl Host for Alone<'_> {
    fn declaration(&self) -> Declaration {
        self.host.declaration()
    }

    fn refuses_memory(&self) -> bool {
        self.host.refuses_memory()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        match self.host.run_alone(request) {
            Some(ran) => {
                self.was_alone.store(true, Ordering::Relaxed);
                ran
            }
            None => self.host.run(request),
        }
    }
}

/// Returns the cells that the case's model declares. A refusal exercises no type cell.
fn declared_cells(case: &Case) -> Vec<String> {
    let cells = named_cells(&case.model, Specs::embedded());
    cells.into_iter().filter(|cell| case.refusal.is_none() || !cell.contains(' ')).collect()
}

/// Judges the outputs of every data set, up to the first that differs.
pub(crate) fn judge_outputs(case: &Case, runtime: &dyn Host) -> CaseResult {
    let mut result = CaseResult::for_case(case);
    for (number, data) in case.data.iter().enumerate() {
        let Ran { ended, flaky } = send(case, data, runtime);
        result.flaky = result.flaky.take().or(flaky);
        let (outcome, message) = match ended {
            Ended::Answered(Response::Outputs { values, cells }) => {
                result.executed_cells.extend(cells);
                if case.is_hostile && data.outputs.is_empty() {
                    continue;
                }
                match check_outputs(&data.outputs, &values) {
                    Ok(agreement) => {
                        result.ulps = result.ulps.max(agreement.ulps);
                        result.bound = UsedBound::worse(result.bound, agreement.bound);
                        continue;
                    }
                    Err(difference) => {
                        result.distance = distance_of(difference.kind);
                        // The distances in later data sets are unknown.
                        result.ulps = difference.ulps.filter(|_| number + 1 == case.data.len());
                        result.bound = difference.bound;
                        (outcome_of(difference.kind), difference.message)
                    }
                }
            }
            other if case.is_hostile && is_refusal(&other, runtime) => {
                result.message = format!("refused: {}", failure(other, &mut None).1);
                break;
            }
            other => failure(other, &mut result.missing),
        };
        result.outcome = outcome;
        result.message = if case.data.len() > 1 { format!("test_data_set_{number}: {message}") } else { message };
        break;
    }
    result.executed_cells.sort_unstable();
    result.executed_cells.dedup();
    result
}

fn send(case: &Case, data: &DataSet, runtime: &dyn Host) -> Ran {
    runtime.run(&Request {
        id: &case.id,
        model: &case.model,
        folder: case.folder.as_deref().filter(|_| has_external_data(&case.model)),
        inputs: &data.inputs,
        outputs: &data.outputs.iter().map(ExpectedOutput::requested).collect::<Vec<_>>(),
        ask: Ask::RUN,
    })
}

fn outcome_of(kind: DifferenceKind) -> Outcome {
    match kind {
        DifferenceKind::Values(_) => Outcome::Mismatch,
        DifferenceKind::Shape => Outcome::WrongShape,
        DifferenceKind::Type => Outcome::WrongType,
    }
}

fn distance_of(kind: DifferenceKind) -> Option<Distance> {
    match kind {
        DifferenceKind::Values(distance) => Some(distance),
        DifferenceKind::Shape | DifferenceKind::Type => None,
    }
}

/// Returns true if a request ended with a refusal: the runtime, or the host in its place, refused and survived.
fn is_refusal(ended: &Ended, runtime: &dyn Host) -> bool {
    match ended {
        Ended::Answered(Response::Error { .. } | Response::Unsupported { .. }) => true,
        Ended::OutOfMemory(_) => runtime.refuses_memory(),
        _ => false,
    }
}

/// Returns the outcome of a request that ended without outputs.
pub(crate) fn failure(ended: Ended, missing: &mut Option<String>) -> (Outcome, String) {
    match ended {
        Ended::Answered(Response::Outputs { .. }) => (Outcome::Pass, String::new()),
        Ended::Answered(Response::Unsupported { what, message }) => {
            *missing = Some(what);
            (Outcome::Unsupported, message)
        }
        Ended::Answered(Response::Error { message, .. }) => (Outcome::Error, message),
        Ended::Answered(other) => (Outcome::ProtocolError, format!("unknown kind of answer: {other:?}")),
        Ended::Timeout(message) => (Outcome::Timeout, message),
        Ended::OutOfMemory(message) => (Outcome::OutOfMemory, message),
        Ended::Crash(message) => (Outcome::Crash, message),
        Ended::ProtocolError(message) => (Outcome::ProtocolError, message),
    }
}

fn check_outputs(expected: &[ExpectedOutput], actual: &[Value]) -> Result<Agreement, Difference> {
    if expected.len() != actual.len() {
        let message = format!("expected {} outputs, got {}", expected.len(), actual.len());
        return Err(Difference { kind: DifferenceKind::Shape, message, ulps: None, bound: None });
    }
    all_of(expected.iter().zip(actual).map(|(expected, actual)| {
        expected.expected.check(actual).map_err(|difference| Difference {
            message: format!("output '{}': {}", expected.name, difference.message),
            ..difference
        })
    }))
}

/// Judges a refusal. Any error is a refusal, but it counts only if the control, the same model repaired, passes.
fn judge_refusal(case: &Case, refusal: &Refusal, runtime: &dyn Host, declaration: &Declaration) -> CaseResult {
    let mut result = CaseResult::for_case(case);
    let Ran { ended, flaky } = send(case, case.data.first().unwrap_or(&DataSet::default()), runtime);
    match ended {
        Ended::Answered(Response::Outputs { .. }) => {
            result.outcome = Outcome::Accepted;
            result.message = format!("accepted a model that must be refused: {}", refusal.rule);
        }
        Ended::Answered(Response::Error { .. } | Response::Unsupported { .. }) => {}
        other if case.is_hostile && is_refusal(&other, runtime) => {}
        other => (result.outcome, result.message) = failure(other, &mut result.missing),
    }
    let control = judge(&refusal.control, runtime, declaration);
    result.flaky = flaky.or(control.flaky);
    // A hostile model that leaves a runtime without an answer counts even if the control fails.
    let has_died = if case.is_hostile { result.outcome.is_without_answer() } else { result.outcome == Outcome::Crash };
    if control.outcome != Outcome::Pass && !has_died {
        result.outcome = Outcome::NotApplicable;
        result.message = format!("the control {} ends with {}: {}", control.id, control.outcome, control.message);
        result.missing = control.missing;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::Expected;
    use onnx_conformance_cases::compare::{Accuracy, BoundShare};
    use onnx_conformance_cases::suite::{CaseGroup, HostileCases, Source};

    /// A host that ends hostile requests in a fixed way, and runs others with the built-in executor.
    struct Fake {
        ended: Ended,
        refuses_memory: bool,
    }

    impl Host for Fake {
        fn declaration(&self) -> Declaration {
            Declaration::named("fake", "1")
        }

        fn refuses_memory(&self) -> bool {
            self.refuses_memory
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            if request.id.ends_with("/control") {
                return onnx_conformance_subject::Builtin::new(std::time::Duration::from_mins(1)).run(request);
            }
            self.ended.clone().into()
        }
    }

    fn check(id: &str, ended: Ended, refuses_memory: bool, expected: Outcome) {
        let (unit, _) = id.rsplit_once('/').unwrap();
        let cases = HostileCases.load(&CaseGroup { name: unit.to_owned() }, &|other| other == id).unwrap();
        let fake = Fake { ended, refuses_memory };
        let result = judge(&cases[0], &fake, &fake.declaration());
        assert_eq!(result.outcome, expected, "{id}: {}", result.message);
        assert!(result.counts(true) || expected.is_inconclusive());
        assert_eq!(result.counts(false), expected.is_without_answer(), "{id}");
    }

    /// A case with correct outputs, one that must be refused, and one for which any answer is allowed.
    const KINDS: [&str; 3] =
        ["hostile/depth/subgraphs_30", "hostile/sizes/elements_wrap_to_0", "hostile/numbers/int32_divided_by_0"];

    fn outputs(values: Vec<Value>) -> Ended {
        Ended::Answered(Response::outputs(values))
    }

    #[test]
    fn a_refusal_of_a_hostile_model_passes_and_no_answer_fails() {
        for id in KINDS {
            check(id, Ended::Answered(Response::load_error("no")), false, Outcome::Pass);
            check(id, Ended::Answered(Response::unsupported("operator ai.onnx/If", "no")), false, Outcome::Pass);
            check(id, Ended::Timeout(String::new()), false, Outcome::Timeout);
            check(id, Ended::Crash(String::new()), true, Outcome::Crash);
            check(id, Ended::OutOfMemory(String::new()), false, Outcome::OutOfMemory);
            check(id, Ended::OutOfMemory(String::new()), true, Outcome::Pass);
        }
    }

    #[test]
    fn an_answer_to_a_hostile_model_passes_where_it_is_right_or_nothing_is_known() {
        let tensor = |values: &[f64]| {
            let tensor = onnx_conformance_reference::tensor::Tensor::of_floats(
                onnx_conformance_reference::dtype::ElementType::Float,
                &[values.len()],
                values,
            );
            Value::Tensor(tensor.unwrap())
        };
        let [known, meaningless, free] = KINDS;
        check(known, outputs(vec![tensor(&[-1.0, 2.0])]), false, Outcome::Pass);
        check(known, outputs(vec![tensor(&[1.0, 2.0])]), false, Outcome::Mismatch);
        check(known, outputs(Vec::new()), false, Outcome::WrongShape);
        check(meaningless, outputs(Vec::new()), false, Outcome::Accepted);
        check(free, outputs(Vec::new()), false, Outcome::Pass);
        check(free, outputs(vec![tensor(&[7.0])]), false, Outcome::Pass);
    }

    #[test]
    fn a_mismatch_has_a_distance_if_all_outputs_of_all_data_sets_have() {
        let tensor = |value: f64| {
            let element = onnx_conformance_reference::dtype::ElementType::Float;
            Value::Tensor(onnx_conformance_reference::tensor::Tensor::of_floats(element, &[1], &[value]).unwrap())
        };
        let near = 1.0 + 3.0 * f64::from(f32::EPSILON);
        let [known, ..] = KINDS;
        let (unit, _) = known.rsplit_once('/').unwrap();
        let cases = HostileCases.load(&CaseGroup { name: unit.to_owned() }, &|id| id == known).unwrap();
        let output = |name: &str| ExpectedOutput {
            name: name.to_owned(),
            expected: Expected::Value(tensor(1.0), Accuracy::Exact),
        };
        let data = DataSet { inputs: Vec::new(), outputs: vec![output("a"), output("b")] };
        let check = |data_sets: usize, actual: [f64; 2], outcome: Outcome, ulps: Option<u64>| {
            let mut case = cases[0].clone();
            (case.is_hostile, case.data) = (false, vec![data.clone(); data_sets]);
            let fake = Fake { ended: outputs(actual.map(tensor).to_vec()), refuses_memory: false };
            let result = judge(&case, &fake, &fake.declaration());
            assert_eq!((result.outcome, result.ulps), (outcome, ulps), "{}", result.message);
        };
        check(1, [1.0, 1.0], Outcome::Pass, Some(0));
        check(1, [1.0, near], Outcome::Mismatch, Some(3));
        check(1, [near, 1.0], Outcome::Mismatch, Some(3));
        check(1, [near, 7.0], Outcome::Mismatch, None);
        check(2, [near, 1.0], Outcome::Mismatch, None);
    }

    #[test]
    fn a_result_has_the_largest_share_of_a_bound_in_all_data_sets() {
        let element = onnx_conformance_reference::dtype::ElementType::Float;
        let above_one = |ulps: f64| {
            let value = 1.0 + ulps * f64::from(f32::EPSILON);
            Value::Tensor(onnx_conformance_reference::tensor::Tensor::of_floats(element, &[1], &[value]).unwrap())
        };
        let data = |ulps: f64| {
            let expected = Expected::Value(above_one(ulps), Accuracy::Ulp(4));
            DataSet { inputs: Vec::new(), outputs: vec![ExpectedOutput { name: "a".to_owned(), expected }] }
        };
        let [known, ..] = KINDS;
        let (unit, _) = known.rsplit_once('/').unwrap();
        let mut case =
            HostileCases.load(&CaseGroup { name: unit.to_owned() }, &|id| id == known).unwrap().swap_remove(0);
        (case.is_hostile, case.data) = (false, vec![data(0.0), data(2.0)]);
        for (ulps, outcome, share) in [
            (0.0, Outcome::Pass, BoundShare::Half),
            (4.0, Outcome::Pass, BoundShare::Whole),
            (9.0, Outcome::Mismatch, BoundShare::Fourfold),
        ] {
            let fake = Fake { ended: outputs(vec![above_one(ulps)]), refuses_memory: false };
            let result = judge(&case, &fake, &fake.declaration());
            assert_eq!((result.outcome, result.bound), (outcome, Some(UsedBound { element, ulps: Some(4), share })));
        }
    }

    #[test]
    fn a_death_counts_whatever_the_control_does() {
        struct Dying;
        impl Host for Dying {
            fn declaration(&self) -> Declaration {
                Declaration::named("dying", "1")
            }

            fn run(&self, request: &Request<'_>) -> Ran {
                let is_control = request.id.ends_with("/control");
                let error = || Ended::Answered(Response::load_error("no"));
                (if is_control { error() } else { Ended::Timeout(String::new()) }).into()
            }
        }
        let name = "hostile/sizes".to_owned();
        let cases = HostileCases.load(&CaseGroup { name }, &|id| id == KINDS[1]).unwrap();
        assert_eq!(judge(&cases[0], &Dying, &Dying.declaration()).outcome, Outcome::Timeout);
    }

    #[test]
    fn a_long_message_is_kept_in_part() {
        let whole = "é".repeat(MAX_MESSAGE);
        assert_eq!(shortened(whole.clone()), whole);
        let cut = shortened("é".repeat(1 << 20));
        assert!(cut.ends_with("é... (1046616 more characters)"), "{cut}");
        assert!((MAX_MESSAGE - 40..=MAX_MESSAGE).contains(&cut.chars().count()));
    }
}
