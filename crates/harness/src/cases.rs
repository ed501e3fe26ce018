//! Cases of the suite one by one, for tests that run the models themselves.

use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, ExpectedOutput, Level};
use onnx_conformance_cases::suite::{Filter, FilterError, Generated, Suite, SuiteError};
use onnx_conformance_subject::{Declaration, Ended, Host, Named, Output, Ran, Request, Response, Variant};

use crate::expectations::{ExpectationMatcher, Expectations, Verdict};
use crate::run::{CaseResult, Outcome, judge, plan};

/// Selects cases of the suite by patterns, as `onnx-conformance list` does: `ai.onnx/Abs-*/**`, `!**/T=string`, an id.
///
/// ```
/// use onnx_conformance_harness::{Response, Tensor, Value, cases};
///
/// // Runs the cases of Neg in float on a runtime that is one line.
/// for case in cases(&["ai.onnx/Neg-13/**/T=float", "!**/large/**"])? {
///     let case = case?;
///     let judgement = case.judge(|request| {
///         let Some(x) = request.inputs[0].value.as_tensor() else { return Response::load_error("no tensor") };
///         let negated = x.to_vec::<f32>().unwrap().into_iter().map(|x| -x).collect();
///         Response::outputs(vec![Value::Tensor(Tensor::from_vec::<f32>(x.shape().to_vec(), negated).unwrap())])
///     });
///     assert!(judgement.is_pass(), "{judgement}");
/// }
/// # Ok::<(), onnx_conformance_harness::CasesError>(())
/// ```
///
/// # Errors
/// If a pattern cannot be read, or selects no case.
pub fn cases(patterns: &[&str]) -> Result<Cases, CasesError> {
    Cases::of(Suite::project(None, Generated::embedded())?, patterns)
}

/// Selects cases as [`cases`] does, and reads ONNX's own tests from `testdata`, that folder of a checkout of the project.
///
/// # Errors
/// If a pattern cannot be read, or selects no case.
pub fn cases_with_testdata(testdata: &Path, patterns: &[&str]) -> Result<Cases, CasesError> {
    Cases::of(Suite::project(Some(testdata), Generated::embedded())?, patterns)
}

/// Error of a selection of cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CasesError {
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] FilterError),
    /// Cases cannot be read or made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// No case is selected.
    #[error("no case matches {0}; `onnx-conformance list` lists all ids")]
    Nothing(String),
    /// A file of known failures cannot be used.
    #[error("{0}")]
    KnownFailures(String),
}

/// Cases of the suite in the order of their ids. The models of an operator version are made when the iterator reaches
/// the first one.
pub struct Cases {
    suite: Suite,
    /// Ids of the cases that are left, the next one last.
    left: Vec<String>,
    /// Cases that are made, the next one last.
    made: Vec<Case>,
}

impl Cases {
    fn of(suite: Suite, patterns: &[&str]) -> Result<Cases, CasesError> {
        let filter = Filter::new(patterns)?;
        let mut left: Vec<String> = plan(&suite, &filter, Variant::Runtime)?.ids().map(str::to_owned).collect();
        if left.is_empty() {
            return Err(CasesError::Nothing(patterns.join(", ")));
        }
        left.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Cases { suite, left, made: Vec::new() })
    }

    /// Returns the ids of the cases that are left, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.left.iter().rev().map(String::as_str)
    }

    /// Makes the cases that are made together with the next one.
    fn make(&mut self) -> Result<(), CasesError> {
        let Some(next) = self.left.last() else { return Ok(()) };
        let group = next.split('/').take(2).collect::<Vec<_>>().join("/");
        let is_next = |id: &str| id.strip_prefix(&group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let ids: Vec<&str> = self.left.iter().map(String::as_str).filter(|id| is_next(id)).collect();
        let filter = Filter::new(&ids)?;
        let plan = plan(&self.suite, &filter, Variant::Runtime)?;
        for group in plan.groups() {
            self.made.extend(plan.load(group)?);
        }
        self.made.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        Ok(())
    }
}

impl fmt::Debug for Cases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cases").field("left", &self.left.len()).finish_non_exhaustive()
    }
}

impl Iterator for Cases {
    type Item = Result<SuiteCase, CasesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.made.is_empty()
            && let Err(error) = self.make()
        {
            self.left.clear();
            return Some(Err(error));
        }
        let case = self.made.pop()?;
        // Both lists are in order, so that the id is nearly always the last one.
        if self.left.last() == Some(&case.id) {
            self.left.pop();
        } else {
            self.left.retain(|id| *id != case.id);
        }
        Some(Ok(SuiteCase { case }))
    }
}

/// A case of the suite: a model with inputs and an expectation.
#[derive(Clone, Debug)]
pub struct SuiteCase {
    case: Case,
}

impl SuiteCase {
    /// Returns the stable id: `ai.onnx/Abs-13/ranks/X=2x3x4/T=float`.
    pub fn id(&self) -> &str {
        &self.case.id
    }

    /// Returns the serialized `ModelProto`.
    pub fn model(&self) -> &Bytes {
        &self.case.model
    }

    /// Returns the folder with the model's external data, if it has any.
    pub fn folder(&self) -> Option<&Path> {
        self.case.folder.as_deref()
    }

    /// Returns true if the standard requires the behaviour. Other cases are recommended, or open: no outcome of an open case counts.
    pub fn is_required(&self) -> bool {
        self.case.level == Level::Required
    }

    /// Returns true if the model must be refused. In that case there are no expected outputs.
    pub fn must_be_refused(&self) -> bool {
        self.case.refusal.is_some()
    }

    /// Returns the model that differs from one that must be refused only in that it is valid.
    pub fn control(&self) -> Option<SuiteCase> {
        self.case.refusal.as_ref().map(|refusal| SuiteCase { case: (*refusal.control).clone() })
    }

    /// Returns the inputs of each run of the model. Most models run once.
    pub fn inputs(&self) -> impl Iterator<Item = &[Named]> {
        self.case.data.iter().map(|data| data.inputs.as_slice())
    }

    /// Returns the outputs that are requested: their names and types.
    pub fn outputs(&self) -> Vec<Output> {
        let data = self.case.data.first();
        data.into_iter().flat_map(|data| data.outputs.iter().map(ExpectedOutput::requested)).collect()
    }

    /// Judges the answer of a runtime. `run` is called for each run of the model, and for the control of a case that
    /// must be refused, whose id [`Request::id`] names.
    pub fn judge(&self, run: impl Fn(&Request<'_>) -> Response + Sync) -> Judgement {
        let host = Closure(run);
        Judgement { result: judge(&self.case, &host, &host.declaration()) }
    }
}

/// Runtime that is a function.
struct Closure<F>(F);

impl<F: Fn(&Request<'_>) -> Response + Sync> Host for Closure<F> {
    fn declaration(&self) -> Declaration {
        Declaration::named("function", "1")
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        Ended::Answered((self.0)(request)).into()
    }
}

/// Outcome of a case on a runtime. Its text is the outcome with the reason, and the rule that the case shows.
#[derive(Clone, Debug)]
pub struct Judgement {
    result: CaseResult,
}

impl Judgement {
    /// Returns the outcome.
    pub fn outcome(&self) -> Outcome {
        self.result.outcome
    }

    /// Returns true if every output is right, or the model was refused as it must be.
    pub fn is_pass(&self) -> bool {
        self.result.outcome == Outcome::Pass
    }

    /// Returns the reason of an outcome that is not a pass; empty for a pass.
    pub fn message(&self) -> &str {
        &self.result.message
    }

    /// Returns true if the outcome counts: the case is required, or the runtime died.
    pub fn counts(&self) -> bool {
        self.result.counts(false) && !self.result.outcome.is_inconclusive()
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CaseResult { id, outcome, message, inputs, rule, .. } = &self.result;
        write!(f, "{id}: {outcome}")?;
        for (label, text) in [("", message), ("inputs: ", inputs)] {
            if !text.is_empty() {
                write!(f, "\n    {label}{text}")?;
            }
        }
        rule.as_ref().map_or(Ok(()), |rule| write!(f, "\n    rule {rule}"))
    }
}

/// Failures of a runtime that are known, from an expectation file.
#[derive(Debug)]
pub struct KnownFailures {
    matcher: ExpectationMatcher,
}

impl KnownFailures {
    /// Reads the expectation file of a runtime in a version. `onnx-conformance run --init` or the results of a [`Harness`](crate::Harness)
    /// make such a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is about another runtime.
    pub fn read(path: impl Into<PathBuf>, runtime: &str, version: &str) -> Result<KnownFailures, CasesError> {
        let path = path.into();
        let name = path.display().to_string();
        let failed = |error: &dyn fmt::Display| CasesError::KnownFailures(format!("{name}: {error}"));
        let text = onnx_conformance_cases::case::read_text(&path).map_err(|error| failed(&error))?;
        let file = Expectations::parse(&name, &text).and_then(|file| file.about(&name, runtime));
        let file = file.map_err(|error| CasesError::KnownFailures(error.to_string()))?;
        let runtime = Declaration::named(runtime, version);
        let matcher = ExpectationMatcher::new(file, &runtime, false);
        Ok(KnownFailures { matcher: matcher.map_err(|error| CasesError::KnownFailures(error.to_string()))? })
    }

    /// Compares an outcome with the file.
    pub fn verdict(&self, judgement: &Judgement) -> Verdict {
        self.matcher.verdict(&judgement.result).0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onnx_conformance_subject::Builtin;

    use super::*;

    fn builtin(request: &Request<'_>) -> Response {
        match Builtin::new(Duration::from_mins(1)).run(request).ended {
            Ended::Answered(response) => response,
            other => Response::run_error(other.message().to_owned()),
        }
    }

    #[test]
    fn cases_come_in_order_and_are_judged() {
        let patterns = ["ai.onnx/{Neg,Slice}-*/**", "!**/large/**"];
        let all = cases(&patterns).unwrap();
        let ids: Vec<String> = all.ids().map(str::to_owned).collect();
        let (mut seen, mut refused) = (Vec::new(), 0);
        for case in all {
            let case = case.unwrap();
            let judgement = case.judge(builtin);
            assert!(judgement.is_pass(), "{judgement}");
            assert!(!case.model().is_empty() && case.outputs().is_empty() == case.must_be_refused(), "{}", case.id());
            assert_eq!(case.control().is_some(), case.must_be_refused());
            refused += usize::from(case.must_be_refused());
            seen.push(case.id().to_owned());
        }
        assert_eq!(seen, ids);
        assert!(ids.is_sorted() && refused > 0);
    }

    #[test]
    fn a_wrong_answer_has_its_reason() {
        let id = "ai.onnx/Slice-13/known_values/T=float,Tind=int64";
        let case = cases(&[id]).unwrap().next().unwrap().unwrap();
        let judgement = case.judge(|request| Response::outputs(vec![request.inputs[0].value.clone()]));
        assert_eq!(judgement.outcome(), Outcome::WrongShape);
        assert!(judgement.counts() && judgement.to_string().starts_with(id), "{judgement}");
        let judgement = case.judge(|_| Response::outputs(Vec::new()));
        assert!(judgement.message().contains("expected 1 outputs, got 0"), "{judgement}");
    }

    #[test]
    fn a_selection_of_nothing_is_an_error() {
        let error = cases(&["ai.onnx/NoSuch-1/**"]).unwrap_err().to_string();
        assert!(error.starts_with("no case matches ai.onnx/NoSuch-1/**"), "{error}");
        assert!(matches!(cases(&["a[b"]).unwrap_err(), CasesError::Pattern(_)));
    }

    #[test]
    fn known_failures_are_expected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        std::fs::write(&path, "runtime: a\nexpect:\n  - {cases: 'ai.onnx/Neg-13/**', outcome: error}\n").unwrap();
        let known = KnownFailures::read(&path, "a", "1").unwrap();
        let case = cases(&["ai.onnx/Neg-13/**/T=float"]).unwrap().next().unwrap().unwrap();
        assert_eq!(known.verdict(&case.judge(|_| Response::run_error("no"))), Verdict::ExpectedFailure);
        assert_eq!(known.verdict(&case.judge(builtin)), Verdict::Improvement);
        let error = KnownFailures::read(&path, "b", "1").unwrap_err().to_string();
        assert!(error.contains("a.yaml") && error.contains('b'), "{error}");
        assert!(KnownFailures::read(folder.path().join("none.yaml"), "a", "1").is_err());
    }
}
