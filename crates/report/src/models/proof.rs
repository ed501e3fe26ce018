//! Proof of a conversion: the original and the converted model run on the same inputs and give the same outputs.
//!
//! Only one of the two models is in memory at a time. The original runs first, and its outputs are kept.

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::{Limits, check};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::value::Value;

use crate::models::closeness::{closeness, half_type};
use crate::models::comparison::is_degenerate;
use crate::models::fit::Fit;
use crate::models::generated_inputs::{InputGenerationError, InputPlan};

/// Tolerance for cancellation, in unit roundoffs of the largest element.
const ROUNDOFFS: f64 = 32.0;

/// The same for types of 16 bits: two steps.
const NARROW_ROUNDOFFS: f64 = 4.0;

/// Result of the trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Both models gave the same outputs.
    Same(String),
    /// Nothing could be compared, for this reason.
    NotVerified(String),
    /// Some output differs.
    Differs(String),
}

impl Proof {
    /// Creates the result for a comparison that was not possible.
    pub fn not_verified(why: &str) -> Proof {
        Proof::NotVerified(format!("not verified: {why}"))
    }
}

/// Reason why a run gave no outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// The time or memory limit of all runs is exceeded.
    Limit(String),
    /// The model does not run on the inputs.
    Model(String),
    /// The model does not run on any inputs.
    Never(String),
}

/// The time or memory limit of all runs is exceeded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OverLimit(pub String);

/// Inputs of a run, with a description.
pub type TrialInputs = (String, Vec<Named>);

/// Runs a loaded model on inputs, while this many other bytes are in use.
pub type RunLoaded<'a> = Box<dyn Fn(&[Named], usize) -> Result<Vec<Value>, RunFailure> + 'a>;

/// Loads a model, given as bytes.
pub type LoadModel<'a> = &'a dyn Fn(&Bytes) -> Result<RunLoaded<'a>, RunFailure>;

/// The runs that prove a conversion.
pub struct Trials<'a> {
    /// Number of runs.
    pub count: usize,
    /// Returns the number of ways to give the inputs of a run, by its number. That of the first run that succeeds is kept; later
    /// runs have other sizes ([`resized_ways`](crate::models::resized_ways)) if the model runs with them.
    pub ways: &'a dyn Fn(usize) -> usize,
    /// Returns the inputs of a run by its number and the way, the same on every call.
    pub inputs: &'a dyn Fn(usize, usize) -> Result<TrialInputs, RunFailure>,
    /// Loads a model for all runs.
    pub load: LoadModel<'a>,
}

/// Outputs of the original model.
pub struct Expectation {
    /// Outputs of each run, with the way to give its inputs; `None` for a failed run.
    outputs: Vec<Option<(usize, Vec<Value>)>>,
    /// Reason of the last failure, of the most likely way.
    why: String,
    /// Total bytes of the outputs.
    held: usize,
    /// Coarsest float type of 16 bits in which the model computes.
    half: Option<ElementType>,
}

impl Trials<'_> {
    /// Runs the original model.
    pub fn before(&self, model: &Bytes) -> Result<Expectation, OverLimit> {
        let mut expected = Expectation { outputs: Vec::new(), why: String::new(), held: 0, half: None };
        if self.count == 0 {
            return Ok(expected);
        }
        expected.half = decode::model(model.clone()).ok().and_then(|model| half_type(model.graph.as_ref()?));
        let run = match (self.load)(model) {
            Ok(run) => run,
            Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
            Err(RunFailure::Model(why) | RunFailure::Never(why)) => return Ok(Expectation { why, ..expected }),
        };
        let mut fit = Fit::default();
        for number in 0..self.count {
            let ways = (self.ways)(number);
            let (mut found, mut why) = (None, None);
            for way in fit.ways(ways) {
                let ran = (self.inputs)(number, way).and_then(|(_, inputs)| run(&inputs, expected.held));
                fit.add(way, ways, ran.is_ok());
                match ran {
                    // Other sizes may be too small.
                    Ok(values) if way >= ways && is_degenerate(&values) => {}
                    Ok(values) => {
                        let size: usize = values.iter().map(Value::size).sum();
                        expected.held = expected.held.saturating_add(size);
                        found = Some((way, values));
                        break;
                    }
                    Err(RunFailure::Model(error)) => why = why.or(Some(error)),
                    Err(RunFailure::Never(error)) => {
                        why = Some(error);
                        break;
                    }
                    // Other sizes may be larger.
                    Err(RunFailure::Limit(_)) if way >= ways => {}
                    Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
                }
            }
            expected.why = why.filter(|_| found.is_none()).unwrap_or(expected.why);
            expected.outputs.push(found);
        }
        Ok(expected)
    }

    /// Runs the converted model, and compares.
    pub fn after(&self, expected: &Expectation, model: &Bytes) -> Result<Proof, OverLimit> {
        if self.count == 0 {
            return Ok(Proof::not_verified("no inputs were requested"));
        }
        if expected.outputs.iter().all(Option::is_none) {
            let why = &expected.why;
            return Ok(Proof::not_verified(&format!("the built-in executor does not run the model: {why}")));
        }
        let run = match (self.load)(model) {
            Ok(run) => run,
            Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
            Err(RunFailure::Model(error) | RunFailure::Never(error)) => {
                return Ok(Proof::Differs(format!("the model runs but the converted model does not: {error}")));
            }
        };
        let (mut compared, mut exact, mut ulps, half) = (0, true, None, expected.half);
        for (number, outputs) in expected.outputs.iter().enumerate() {
            let Some((way, outputs)) = outputs else { continue };
            let mut name = String::new();
            let ran = (self.inputs)(number, *way).and_then(|(called, inputs)| {
                name = called;
                run(&inputs, expected.held)
            });
            let actual = match ran {
                Ok(values) => values,
                Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
                Err(RunFailure::Model(error) | RunFailure::Never(error)) => {
                    let text = format!("on {name}, the model runs but the converted model does not: {error}");
                    return Ok(Proof::Differs(text));
                }
            };
            for (position, (expected, actual)) in outputs.iter().zip(&actual).enumerate() {
                exact &= expected == actual;
                match compare(expected, actual, &accuracy_behind(expected, half)) {
                    Ok(agreement) => ulps = ulps.max(agreement.ulps),
                    Err(difference) => {
                        return Ok(Proof::Differs(format!("on {name}, output {position}: {}", difference.message)));
                    }
                }
            }
            compared += 1;
        }
        let how = match ulps.filter(|ulps| *ulps > 0) {
            _ if exact => "bit-identical outputs".to_owned(),
            None => "equal outputs".to_owned(),
            Some(ulps) => format!("outputs at most {ulps} ULP apart"),
        };
        Ok(Proof::Same(format!("verified: {how} on {compared} of {} inputs", self.count)))
    }
}

/// Returns the first rule that the model in a file violates, if any.
pub fn broken_rule(file: &[u8], limits: &Limits) -> Option<Finding> {
    check(file, None, limits).findings.into_iter().find(|finding| finding.level == Level::Error)
}

/// Returns the tolerance of an output's elements. Wide types may cancel. For narrow ones, a conversion may round between two nodes
/// where a single node did not.
pub fn proof_accuracy(expected: &Value) -> Accuracy {
    accuracy_behind(expected, None)
}

/// Returns the tolerance of the elements of an output. `half` is the 16-bit type that the model computes in, if any.
fn accuracy_behind(expected: &Value, half: Option<ElementType>) -> Accuracy {
    let roundoffs = match expected.value_type().element_type().bits() {
        0..16 => 0.0,
        16 => NARROW_ROUNDOFFS,
        _ if half.is_some() => NARROW_ROUNDOFFS,
        _ => ROUNDOFFS,
    };
    closeness(expected, half, |roundoff| roundoffs * roundoff)
}

/// Returns generated inputs, the same on every call, or the reason why there are none.
pub fn generated_trial(
    plan: &InputPlan<'_>,
    way: usize,
    number: usize,
    limits: &Limits,
) -> Result<TrialInputs, RunFailure> {
    match plan.inputs(way, number, limits) {
        Ok(inputs) => Ok((format!("generated input {number}"), inputs)),
        Err(error @ InputGenerationError::Late) => Err(RunFailure::Limit(error.to_string())),
        Err(error) => Err(RunFailure::Model(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;
    use onnx_conformance_reference::tensor::Tensor;

    use super::*;

    #[test]
    fn the_first_broken_rule_of_a_file_is_named() {
        let text = |shape: &str| {
            let text = format!(
                r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[{shape}] y) {{ y = Neg (x) }}"#
            );
            parse_model(&text).unwrap().encode_to_vec()
        };
        assert_eq!(broken_rule(&text("2"), &Limits::default()), None);
        let finding = broken_rule(&text("3"), &Limits::default()).unwrap();
        assert_eq!(finding.rule.id(), "value/shape");
    }

    #[test]
    fn narrow_types_may_be_two_steps_away() {
        let tensor =
            |element, values: &[f64]| Value::Tensor(Tensor::of_floats(element, &[values.len()], values).unwrap());
        let is_near = |element, expected: &[f64], actual: &[f64]| {
            let expected = tensor(element, expected);
            compare(&expected, &tensor(element, actual), &proof_accuracy(&expected)).is_ok()
        };
        assert!(is_near(ElementType::Bfloat16, &[1.0, 8.0], &[1.015_625, 8.0]));
        assert!(is_near(ElementType::Bfloat16, &[0.0, 8.0], &[0.0625, 8.0]));
        assert!(!is_near(ElementType::Bfloat16, &[1.0, 1.0], &[1.0625, 1.0]));
        assert!(is_near(ElementType::Float16, &[1.0], &[1.001_953_125]));
        assert!(!is_near(ElementType::Float, &[1.0], &[1.001_953_125]));
        assert!(!is_near(ElementType::Float8e5m2, &[8.0], &[10.0]));
        assert!(!is_near(ElementType::Bfloat16, &[1.0], &[f64::INFINITY]));
        let expected = tensor(ElementType::Float, &[0.0, 8.0]);
        let is_near = |half| {
            compare(&expected, &tensor(ElementType::Float, &[0.01, 8.0]), &accuracy_behind(&expected, half)).is_ok()
        };
        assert!(is_near(Some(ElementType::Float16)) && !is_near(None));
    }

    #[test]
    fn a_run_over_the_limits_ends_the_proof() {
        let inputs = |number: usize, _: usize| Ok((format!("input {number}"), Vec::new()));
        let model = Bytes::new();
        let trials = |load| Trials { count: 2, ways: &|_| 1, inputs: &inputs, load };
        let over = |_: &Bytes| Ok(ran(Err(RunFailure::Limit("the time is over".to_owned()))));
        let error = trials(&over).before(&model).err().map(|error| error.0);
        assert_eq!(error.as_deref(), Some("the time is over"));
        let fails = |_: &Bytes| Ok(ran(Err(RunFailure::Model("no kernel".to_owned()))));
        let expected = trials(&fails).before(&model).unwrap();
        let why = "the built-in executor does not run the model: no kernel";
        assert_eq!(trials(&fails).after(&expected, &model), Ok(Proof::not_verified(why)));
        let runs = |_: &Bytes| Ok(ran(Ok(Vec::new())));
        let expected = trials(&runs).before(&model).unwrap();
        assert_eq!(trials(&over).after(&expected, &model), Err(OverLimit("the time is over".to_owned())));
        let differs = trials(&fails).after(&expected, &model).unwrap();
        assert!(matches!(differs, Proof::Differs(text) if text.contains("on input 0, the model runs")));
        let unreadable = |_: &Bytes| Err(RunFailure::Model("no model".to_owned()));
        let differs = trials(&unreadable).after(&expected, &model).unwrap();
        assert!(matches!(differs, Proof::Differs(text) if text.ends_with("the converted model does not: no model")));
    }

    /// Returns a loaded model that ends every run like this.
    fn ran(end: Result<Vec<Value>, RunFailure>) -> RunLoaded<'static> {
        Box::new(move |_, _| end.clone())
    }

    #[test]
    fn the_largest_distance_of_elements_is_stated() {
        let inputs = |number: usize, _: usize| Ok((format!("input {number}"), Vec::new()));
        let float = |values: &[f64]| Value::Tensor(Tensor::of_floats(ElementType::Float, &[2], values).unwrap());
        let prove = |actual: &[f64]| {
            let of = |values: &[f64]| {
                let value = float(values);
                move |_: &Bytes| Ok(ran(Ok(vec![value.clone()])))
            };
            let (before, after) = (of(&[1.0, 1000.0]), of(actual));
            let expected =
                Trials { count: 1, ways: &|_| 1, inputs: &inputs, load: &before }.before(&Bytes::new()).unwrap();
            Trials { count: 1, ways: &|_| 1, inputs: &inputs, load: &after }.after(&expected, &Bytes::new()).unwrap()
        };
        let same = |how: &str| Proof::Same(format!("verified: {how} on 1 of 1 inputs"));
        assert_eq!(prove(&[1.0, 1000.0]), same("bit-identical outputs"));
        let next = f64::from(f32::EPSILON);
        assert_eq!(prove(&[1.0 + 3.0 * next, 1000.0]), same("outputs at most 3 ULP apart"));
        // 32 roundoffs of 1000 are 0.0019.
        assert!(matches!(prove(&[1.0018, 1000.0]), Proof::Same(_)));
        assert!(matches!(prove(&[1.004, 1000.0]), Proof::Differs(_)));
    }

    #[test]
    fn the_way_that_fits_is_kept() {
        let inputs = |number: usize, way: usize| Ok((format!("input {number} by way {way}"), vec![number_of(way)]));
        let tried = std::cell::RefCell::new(Vec::new());
        let load = |_: &Bytes| {
            let run: RunLoaded<'_> = Box::new(|inputs, _| {
                let way = inputs[0].value.as_tensor().unwrap().indices().into_iter().next();
                tried.borrow_mut().push(way.unwrap_or_default());
                if way == Some(2) { Ok(Vec::new()) } else { Err(RunFailure::Model("other sizes".to_owned())) }
            });
            Ok(run)
        };
        let trials = Trials { count: 3, ways: &|_| 5, inputs: &inputs, load: &load };
        let expected = trials.before(&Bytes::new()).unwrap();
        assert!(matches!(trials.after(&expected, &Bytes::new()), Ok(Proof::Same(_))));
        // The ways 7 and 12 are the second one with other sizes, which are tried once.
        assert_eq!(tried.into_inner(), [0, 1, 2, 7, 12, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn later_runs_have_other_sizes() {
        let inputs = |number: usize, way: usize| Ok((format!("input {number}"), vec![number_of(way)]));
        let tried = std::cell::RefCell::new(Vec::new());
        let load = |_: &Bytes| {
            let run: RunLoaded<'_> = Box::new(|inputs, _| {
                let way = inputs[0].value.as_tensor().unwrap().indices().into_iter().next().unwrap_or_default();
                tried.borrow_mut().push(way);
                match way {
                    1 | 7 => Ok(Vec::new()),
                    4 => Err(RunFailure::Limit("the memory is full".to_owned())),
                    _ => Err(RunFailure::Model("other sizes".to_owned())),
                }
            });
            Ok(run)
        };
        let trials = Trials { count: 3, ways: &|_| 3, inputs: &inputs, load: &load };
        let expected = trials.before(&Bytes::new()).unwrap();
        assert!(matches!(trials.after(&expected, &Bytes::new()), Ok(Proof::Same(_))));
        assert_eq!(tried.into_inner(), [0, 1, 4, 7, 4, 7, 1, 7, 7]);
    }

    fn number_of(way: usize) -> Named {
        let values = [i128::try_from(way).unwrap()];
        Named {
            name: "x".to_owned(),
            value: Value::Tensor(Tensor::of_integers(ElementType::Int64, &[1], &values).unwrap()),
        }
    }
}
