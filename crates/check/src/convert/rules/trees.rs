//! Tree ensembles of ai.onnx.ml: `TreeEnsembleRegressor` and `TreeEnsembleClassifier`, which version 5 deprecates, and
//! `TreeEnsemble`, which replaces them.

use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::texts;
use onnx_conformance_reference::proto::{AttributeProto, encode};
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;

use super::axes::{as_int, vector};
use super::forest::{Forest, Lists, Votes, numbers_of};
use super::inputs::numbers;
use super::rule::{Replacement, Rule, unchanged};
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_int, get_ints, get_string, get_strings};
use crate::convert::draft::{Draft, NewNode};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["TreeEnsembleRegressor"], versions: (3, 5), up: regressor, down: unchanged },
    Rule { operators: &["TreeEnsembleClassifier"], versions: (3, 5), up: classifier, down: unchanged },
];

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "TreeEnsemble", replace: to_regressor }];

/// Aggregates, by their number in `TreeEnsemble`.
const AGGREGATES: [&str; 4] = ["AVERAGE", "SUM", "MIN", "MAX"];

const AVERAGE: i64 = 0;
const SUM: i64 = 1;

/// Post-transforms, by their number in `TreeEnsemble`.
const TRANSFORMS: [&str; 5] = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];

const NONE: i64 = 0;
const SOFTMAX: i64 = 1;
const LOGISTIC: i64 = 2;

/// The first opset in which Add, Div, Sub and Greater broadcast without attributes.
const BROADCASTING: i64 = 7;

/// Settings of a `TreeEnsemble`.
struct Ensemble {
    lists: Lists,
    /// The type of its input and output.
    element: ElementType,
    aggregate: i64,
    transform: i64,
    targets: usize,
}

/// The number of a name in an attribute; the default if the attribute is omitted.
fn number_of(draft: &Draft, attribute: &str, names: &[&str], default: i64) -> Step<i64> {
    let Some(value) = get_string(&draft.node, attribute)? else { return Ok(default) };
    match names.iter().zip(0..).find(|(name, _)| **name == value) {
        Some((_, number)) => Ok(number),
        None => impossible(format!("{attribute}={value} is not one of {}", names.join(", "))),
    }
}

/// The name of a post-transform.
fn name_of(transform: i64) -> &'static str {
    usize::try_from(transform).ok().and_then(|place| TRANSFORMS.get(place)).copied().unwrap_or_default()
}

/// The base value of each target; empty if all are 0.
fn base_values(draft: &Draft, targets: usize) -> Step<Vec<f64>> {
    let base = numbers_of(&draft.node, "base_values")?.unwrap_or_default();
    if !base.is_empty() && base.len() != targets {
        return impossible(format!("there are {} base_values for {targets} targets", base.len()));
    }
    Ok(if base.iter().all(|value| *value == 0.0) { Vec::new() } else { base })
}

/// Checks that all votes are for targets, and that no sum of weights is infinite or NaN.
fn check_votes(forest: &Forest, targets: usize) -> Step {
    let is_target = |target: i64| usize::try_from(target).is_ok_and(|target| target < targets);
    if let Some((target, _)) = forest.votes().find(|(target, _)| !is_target(*target)) {
        return impossible(format!("a leaf votes for target {target}, but there are {targets}"));
    }
    let total: f64 = forest.votes().map(|(_, weight)| weight.abs()).sum();
    if total.is_finite() { Ok(()) } else { impossible("the weights are not finite, or their sum is not") }
}

/// Converts a `TreeEnsembleRegressor`. An ensemble of doubles computes with the same numbers, and its result is rounded to float
/// after the base values are added.
fn regressor(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (element, forest) = (draft.element(0)?, Forest::by_ids(&draft.node, "target")?);
    let aggregate = number_of(draft, "aggregate_function", &AGGREGATES, SUM)?;
    let transform = number_of(draft, "post_transform", &TRANSFORMS, NONE)?;
    let largest = forest.votes().map(|(target, _)| target.saturating_add(1)).max().unwrap_or(1);
    let Ok(targets) = usize::try_from(get_int(&draft.node, "n_targets")?.unwrap_or(largest)) else {
        return impossible("n_targets is negative");
    };
    check_votes(&forest, targets)?;
    let base = base_values(draft, targets)?;
    // The average is over the trees, and there are more trees if their leaves have several votes.
    let divisor = (aggregate == AVERAGE && forest.votes_of_a_leaf() > 1).then(|| forest.trees());
    let is_plain = base.is_empty() && divisor.is_none();
    let selection = if aggregate <= SUM { Votes::Sum } else { Votes::Extreme };
    let is_single = is_plain && element == ElementType::Float && forest.is_single();
    let ensemble = Ensemble {
        lists: forest.lists(selection)?,
        element: if is_single { ElementType::Float } else { ElementType::Double },
        aggregate: if divisor.is_some() { SUM } else { aggregate },
        transform: if is_plain { transform } else { NONE },
        targets,
    };
    if ensemble.element == ElementType::Float {
        ensemble.replace(draft)?;
        draft.edit(format!(
            "TreeEnsembleRegressor, which ai.onnx.ml {} deprecates, is replaced by TreeEnsemble",
            to.version.since
        ));
        return Ok(());
    }
    let (mut scores, output) = draft.redirect_output(0)?;
    ensemble.replace(draft)?;
    if let Some(trees) = divisor {
        let trees = numbers(ElementType::Double, &[], &[trees as f64])?;
        scores = with_constant(draft, "Div", &scores, &trees)?;
    }
    scores = with_base(draft, scores, &base)?;
    let transform = if is_plain { NONE } else { transform };
    finish_scores(draft, &scores, transform, &output)?;
    draft.edit(format!(
        "TreeEnsembleRegressor, which ai.onnx.ml {} deprecates, is replaced by TreeEnsemble of doubles, whose result is cast to float",
        to.version.since
    ));
    Ok(())
}

/// Converts a `TreeEnsembleClassifier`: an ensemble of doubles gives the scores, and the largest one, before any transform, the
/// class. If all votes are for one class of at most two, their sum decides between two.
fn classifier(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (forest, labels) = (Forest::by_ids(&draft.node, "class")?, Labels::of(draft)?);
    let transform = number_of(draft, "post_transform", &TRANSFORMS, NONE)?;
    let classes = labels.len();
    let first = forest.votes().next().map(|(class, _)| *class);
    let is_binary =
        classes <= 2 && matches!(first, Some(0 | 1)) && forest.votes().all(|(class, _)| Some(*class) == first);
    check_votes(&forest, if is_binary { 2 } else { classes })?;
    let mut lists = forest.lists(Votes::Sum)?;
    let (targets, base) = if is_binary {
        lists.votes.iter_mut().for_each(|(target, _)| *target = 0);
        (1, base_of_pair(draft)?)
    } else {
        (classes, base_values(draft, classes)?)
    };
    let [label, score] =
        [0, 1].map(|position| draft.node.output.get(position).map_or_else(String::new, ToString::to_string));
    let scores = draft.fresh("scores");
    draft.node.output = texts([&scores]);
    draft.outputs = vec![Some(ValueFact::from_type(ValueType::Tensor(ElementType::Double)))];
    Ensemble { lists, element: ElementType::Double, aggregate: SUM, transform: NONE, targets }.replace(draft)?;
    let mut scores = with_base(draft, scores, &base)?;
    if is_binary {
        let is_positive = forest.votes().all(|(_, weight)| *weight >= 0.0);
        check_pair(transform, is_positive)?;
        // Positive votes are probabilities.
        let is_probability = transform == NONE && is_positive;
        let threshold = numbers(ElementType::Double, &[], &[if is_probability { 0.5 } else { 0.0 }])?;
        let is_second = with_constant(draft, "Greater", &scores, &threshold)?;
        labels.name_of_pair(draft, &is_second, &label)?;
        let rest = if is_probability {
            let one = numbers(ElementType::Double, &[], &[1.0])?;
            let one = draft.add_constant("one", &one);
            added(draft, "Sub", &[&one, &scores], Vec::new())?
        } else {
            added(draft, "Neg", &[&scores], Vec::new())?
        };
        scores = added(draft, "Concat", &[&rest, &scores], vec![attributes::int("axis", 1)])?;
    } else if !label.is_empty() {
        let attributes = vec![attributes::int("axis", 1), attributes::int("keepdims", 0)];
        let places = added(draft, "ArgMax", &[&scores], attributes)?;
        labels.name(draft, &places, &label)?;
    }
    finish_scores(draft, &scores, transform, &score)?;
    draft.edit(format!(
        "TreeEnsembleClassifier, which ai.onnx.ml {} deprecates, is replaced by TreeEnsemble of doubles; {} selects the label",
        to.version.since,
        if is_binary { "Greater" } else { "ArgMax" }
    ));
    Ok(())
}

/// Checks that runtimes agree on how the sum of votes for one class becomes the scores of two.
fn check_pair(transform: i64, is_positive: bool) -> Step {
    if transform == NONE || (transform == LOGISTIC && !is_positive) {
        return Ok(());
    }
    impossible(format!(
        "all votes are for one class{}, with post_transform {}: the standard does not say how one score becomes two, and runtimes \
         differ",
        if is_positive { " and none is negative" } else { "" },
        name_of(transform)
    ))
}

/// The base value of the sum that decides between two classes.
fn base_of_pair(draft: &Draft) -> Step<Vec<f64>> {
    match numbers_of(&draft.node, "base_values")?.unwrap_or_default()[..] {
        [] => Ok(Vec::new()),
        [base] | [_, base] => Ok(if base == 0.0 { Vec::new() } else { vec![base] }),
        ref base => impossible(format!("there are {} base_values for 2 classes", base.len())),
    }
}

/// Names of the classes.
enum Labels {
    Integers(Vec<i64>),
    Strings(Vec<String>),
}

impl Labels {
    fn of(draft: &Draft) -> Step<Labels> {
        let integers = get_ints(&draft.node, "classlabels_int64s")?;
        match (integers, get_strings(&draft.node, "classlabels_strings")?) {
            (Some(labels), None) => Ok(Labels::Integers(labels)),
            (None, Some(labels)) => Ok(Labels::Strings(labels)),
            _ => impossible("one of classlabels_int64s and classlabels_strings must be set"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Labels::Integers(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    fn tensor(&self) -> Step<Tensor> {
        match self {
            Labels::Integers(labels) => vector(labels),
            Labels::Strings(labels) => {
                let texts: Vec<Arc<str>> = labels.iter().map(|label| Arc::from(label.as_str())).collect();
                Tensor::from_strings(vec![texts.len()], texts.into()).or_else(|error| impossible(error.to_string()))
            }
        }
    }

    /// Adds a Gather that selects the label at each position.
    fn name(&self, draft: &mut Draft, places: &str, output: &str) -> Step {
        let labels = draft.add_constant("labels", &self.tensor()?);
        let attributes = vec![attributes::int("axis", 0)];
        draft.after_all(output, NewNode { op: "Gather", inputs: &[&labels, places], attributes, element: None })
    }

    /// Adds the label of each row from a truth value per row: the first or the second label. With a single label, adds
    /// 0 or 1.
    fn name_of_pair(&self, draft: &mut Draft, is_second: &str, output: &str) -> Step {
        if output.is_empty() {
            return Ok(());
        }
        let to = super::cast::target(draft, ElementType::Int64);
        let places = added(draft, "Cast", &[is_second], vec![to])?;
        let shape = draft.add_constant("shape", &vector(&[-1])?);
        let places = added(draft, "Reshape", &[&places, &shape], Vec::new())?;
        match self {
            Labels::Integers(labels) if labels.len() < 2 => Labels::Integers(vec![0, 1]).name(draft, &places, output),
            Labels::Strings(labels) if labels.len() < 2 => {
                Labels::Strings(vec!["0".to_owned(), "1".to_owned()]).name(draft, &places, output)
            }
            _ => self.name(draft, &places, output),
        }
    }
}

/// Adds a node at the end and returns the name of its output.
fn added(draft: &mut Draft, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> Step<String> {
    if draft.onnx_opset() < BROADCASTING {
        return impossible(format!("an edit needs {op} of ai.onnx {BROADCASTING} or newer"));
    }
    let output = draft.fresh(&op.to_lowercase());
    draft.after_all(&output, NewNode { op, inputs, attributes, element: None })?;
    Ok(output)
}

/// Adds an operation on a value and a constant.
fn with_constant(draft: &mut Draft, op: &str, value: &str, constant: &Tensor) -> Step<String> {
    let constant = draft.add_constant("constant", constant);
    added(draft, op, &[value, &constant], Vec::new())
}

/// Adds the base values, if there are any.
fn with_base(draft: &mut Draft, scores: String, base: &[f64]) -> Step<String> {
    if base.is_empty() {
        return Ok(scores);
    }
    with_constant(draft, "Add", &scores, &numbers(ElementType::Double, &[1, base.len()], base)?)
}

/// Adds the transform of double scores, and their Cast to float.
fn finish_scores(draft: &mut Draft, scores: &str, transform: i64, output: &str) -> Step {
    if output.is_empty() {
        return Ok(());
    }
    let scores = match transform {
        NONE => scores.to_owned(),
        SOFTMAX => added(draft, "Softmax", &[scores], vec![attributes::int("axis", 1)])?,
        LOGISTIC => added(draft, "Sigmoid", &[scores], Vec::new())?,
        other => {
            return impossible(format!(
                "post_transform {} is applied after the base values and the choice of the class, and no other operator computes it",
                name_of(other)
            ));
        }
    };
    let to = super::cast::target(draft, ElementType::Float);
    draft.after_all(output, NewNode { op: "Cast", inputs: &[&scores], attributes: vec![to], element: None })
}

impl Ensemble {
    /// Turns the node of a draft into this one; its input is cast to the type of the ensemble.
    fn replace(self, draft: &mut Draft) -> Step {
        let Ensemble { lists, element, aggregate, transform, targets } = self;
        if draft.element(0)? != element {
            let (input, to) = (draft.input(0), super::cast::target(draft, element));
            let given = draft.element(0).ok();
            let cast = draft.before(NewNode { op: "Cast", inputs: &[&input], attributes: vec![to], element: given })?;
            let fact = ValueFact { value_type: Some(ValueType::Tensor(element)), ..draft.fact(0) };
            draft.set_input(0, cast, Some(ValueFact { constant: None, ..fact }));
        }
        if let Some(Some(fact)) = draft.outputs.first_mut() {
            fact.value_type = Some(ValueType::Tensor(element));
        }
        let tensor = |name: &str, element: ElementType, values: &[f64]| -> Step<AttributeProto> {
            let tensor = numbers(element, &[values.len()], values)?;
            Ok(attributes::tensor(name, encode::tensor(&tensor, "")))
        };
        let modes: Vec<f64> = lists.modes.iter().map(|mode| *mode as f64).collect();
        let (leaf_targets, weights): (Vec<i64>, Vec<f64>) = lists.votes.into_iter().unzip();
        let ([if_true, if_false], [true_is_leaf, false_is_leaf]) = (&lists.children, &lists.are_leaves);
        let mut all = vec![
            attributes::int("aggregate_function", aggregate),
            attributes::ints("leaf_targetids", &leaf_targets),
            tensor("leaf_weights", element, &weights)?,
            attributes::int("n_targets", as_int(targets)),
            attributes::ints("nodes_falseleafs", false_is_leaf),
            attributes::ints("nodes_falsenodeids", if_false),
            attributes::ints("nodes_featureids", &lists.features),
            tensor("nodes_modes", ElementType::Uint8, &modes)?,
            tensor("nodes_splits", element, &lists.splits)?,
            attributes::ints("nodes_trueleafs", true_is_leaf),
            attributes::ints("nodes_truenodeids", if_true),
            attributes::int("post_transform", transform),
            attributes::ints("tree_roots", &lists.roots),
        ];
        if lists.missing.contains(&1) {
            all.push(attributes::ints("nodes_missing_value_tracks_true", &lists.missing));
        }
        attributes::replace_all(&mut draft.node, all);
        draft.node.op_type = Some("TreeEnsemble".into());
        Ok(())
    }
}

/// Replaces a `TreeEnsemble` of floats by a `TreeEnsembleRegressor`, which returns floats.
fn to_regressor(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let (element, lists) = (draft.element(0)?, Lists::of(&draft.node)?);
    if element != ElementType::Float {
        return impossible(format!("before ai.onnx.ml 5, ensembles return float, not {element}"));
    }
    if !lists.is_single() {
        return impossible("a split or weight is a double that no 32-bit float represents");
    }
    let named = |attribute: &str, names: &[&'static str], default: i64| -> Step<&'static str> {
        let number = get_int(&draft.node, attribute)?.unwrap_or(default);
        match names.iter().zip(0..).find(|(_, other)| *other == number) {
            Some((name, _)) => Ok(name),
            None => impossible(format!("{attribute} is {number}")),
        }
    };
    let aggregate = named("aggregate_function", &AGGREGATES, SUM)?;
    let transform = named("post_transform", &TRANSFORMS, NONE)?;
    let largest = lists.votes.iter().map(|(target, _)| target.saturating_add(1)).max().unwrap_or(1);
    let targets = get_int(&draft.node, "n_targets")?.unwrap_or(largest);
    let nodes = lists.with_ids()?;
    #[expect(clippy::cast_possible_truncation, reason = "checked by is_single")]
    let floats = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let (voter_trees, voters): (Vec<i64>, Vec<i64>) = nodes.voters.iter().copied().unzip();
    let (leaf_targets, weights): (Vec<i64>, Vec<f64>) = nodes.votes.iter().copied().unzip();
    let [if_true, if_false] = &nodes.children;
    let mut all = vec![
        attributes::string("aggregate_function", aggregate),
        attributes::int("n_targets", targets),
        attributes::ints("nodes_falsenodeids", if_false),
        attributes::ints("nodes_featureids", &nodes.features),
        attributes::strings("nodes_modes", &nodes.modes),
        attributes::ints("nodes_nodeids", &nodes.ids),
        attributes::ints("nodes_treeids", &nodes.trees),
        attributes::ints("nodes_truenodeids", if_true),
        attributes::floats("nodes_values", &floats(&nodes.splits)),
        attributes::string("post_transform", transform),
        attributes::ints("target_ids", &leaf_targets),
        attributes::ints("target_nodeids", &voters),
        attributes::ints("target_treeids", &voter_trees),
        attributes::floats("target_weights", &floats(&weights)),
    ];
    if nodes.missing.contains(&1) {
        all.push(attributes::ints("nodes_missing_value_tracks_true", &nodes.missing));
    }
    attributes::replace_all(&mut draft.node, all);
    draft.node.op_type = Some("TreeEnsembleRegressor".into());
    draft.edit("TreeEnsemble is replaced by TreeEnsembleRegressor");
    Ok(())
}
