//! Tree ensembles of ai.onnx.ml.

mod attributes;
mod forest;

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::ml::post_transform::{Class, Labels, PostTransform, largest};
use crate::kernels::ml::preprocessing::rows_and_columns;
use crate::kernels::ml::shapes;
use crate::kernels::ml::tree_ensemble::attributes::{by_leaves, by_node_ids, floats_or_tensor};
use crate::kernels::ml::tree_ensemble::forest::{Aggregate, Forest};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.ml", "TreeEnsemble", 5, tree_ensemble).shape(shapes::scored_by_trees),
    Kernel::in_domain("ai.onnx.ml", "TreeEnsembleClassifier", 1, tree_ensemble_classifier)
        .shapes_of_all(shapes::tree_classes)
        .typed(shapes::label_type),
    Kernel::in_domain("ai.onnx.ml", "TreeEnsembleRegressor", 1, tree_ensemble_regressor).shape(shapes::scored_by_trees),
];

/// Returns the number of targets, from an attribute or from the votes of the leaves.
fn target_count(call: &Call<'_>, forest: &Forest) -> Result<usize> {
    match call.optional_int("n_targets") {
        None => Ok(forest.targets()),
        Some(count) => usize::try_from(count)
            .ok()
            .filter(|&count| count > 0)
            .ok_or_else(|| invalid(format!("n_targets is {count}; it must be 1 or more"))),
    }
}

fn tree_ensemble(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (rows, _) = rows_and_columns(x)?;
    let aggregate = match call.int("aggregate_function")? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return Err(broken("C10", format!("aggregate_function is {other}; it must be from 0 to 3"))),
    };
    let transform = PostTransform::from_code(call.int("post_transform")?)?;
    let forest = by_leaves(call)?;
    let targets = target_count(call, &forest)?;
    forest.check_targets(targets).rule("C8")?;
    let mut scores = forest.score(call, targets, aggregate)?;
    scores.chunks_exact_mut(targets).for_each(|row| transform.apply(row));
    Ok(call.floats(x.element_type(), &[rows, targets], scores)?.into())
}

fn tree_ensemble_regressor(call: &Call<'_>) -> Result {
    let (rows, _) = rows_and_columns(call.tensor(0)?)?;
    let functions =
        [("AVERAGE", Aggregate::Average), ("SUM", Aggregate::Sum), ("MIN", Aggregate::Min), ("MAX", Aggregate::Max)];
    let aggregate = call.one_of("aggregate_function", &functions).rule("C10")?;
    let transform = PostTransform::from_call(call).rule("C10")?;
    let forest = by_node_ids(call, "target")?;
    let targets = target_count(call, &forest)?;
    let base = base_values(call, targets)?;
    let mut scores = forest.score(call, targets, aggregate)?;
    for row in scores.chunks_exact_mut(targets) {
        row.iter_mut().zip(&base).for_each(|(score, base)| *score += base);
        transform.apply(row);
    }
    Ok(call.floats(ElementType::Float, &[rows, targets], scores)?.into())
}

/// Returns the base value of each target's score. Empty means none.
fn base_values(call: &Call<'_>, targets: usize) -> Result<Vec<f64>> {
    let base = floats_or_tensor(call, "base_values")?.unwrap_or_default();
    if !base.is_empty() && base.len() != targets {
        let found = base.len();
        return Err(broken("C5", format!("there are {found} base_values for {targets} targets")));
    }
    Ok(base)
}

/// `TreeEnsembleClassifier`: sums the votes of each class and selects the class with the most. If all votes are for one
/// class of at most two, their sum decides between two.
fn tree_ensemble_classifier(call: &Call<'_>) -> Result {
    let (rows, _) = rows_and_columns(call.tensor(0)?)?;
    let (transform, labels) =
        (PostTransform::from_call(call).rule("C10")?, Labels::from_call(call, "classlabels_int64s").rule("C8")?);
    let forest = by_node_ids(call, "class")?;
    let classes = labels.len();
    if let Some(&(only, _)) = forest.votes.first()
        && classes <= 2
        && only < 2
        && forest.votes.iter().all(|&(class, _)| class == only)
    {
        return binary_classifier(call, &forest, &labels, transform);
    }
    let base = base_values(call, classes)?;
    let mut scores = forest.score(call, classes, Aggregate::Sum)?;
    let mut decided = Vec::new();
    for row in scores.chunks_exact_mut(classes.max(1)) {
        row.iter_mut().zip(&base).for_each(|(score, base)| *score += base);
        decided.push(Class::At(largest(row)));
        transform.apply(row);
    }
    let scores = call.floats(ElementType::Float, &[rows, classes], scores)?;
    Ok(vec![labels.name(call, &decided)?, scores].into())
}

/// Decides between two classes by the sum of votes that are all for one class. The sum counts for the second class. If
/// all votes are positive they are probabilities: the threshold is one half, and the first class gets the rest of 1.
/// Else the sign decides, and the first class gets the negative sum.
fn binary_classifier(call: &Call<'_>, forest: &Forest, labels: &Labels, transform: PostTransform) -> Result {
    let (rows, _) = rows_and_columns(call.tensor(0)?)?;
    let base = floats_or_tensor(call, "base_values")?.unwrap_or_default();
    let base = match base[..] {
        [] => 0.0,
        [base] | [_, base] => base,
        _ => return Err(broken("C5", format!("there are {} base_values for {} classes", base.len(), labels.len()))),
    };
    let positive = forest.votes.iter().all(|&(_, weight)| weight >= 0.0);
    let probability = positive && matches!(transform, PostTransform::None | PostTransform::Probit);
    let (mut decided, mut scores) = (Vec::new(), Vec::new());
    let targets = forest.targets();
    for row in forest.score(call, targets, Aggregate::Sum)?.chunks_exact(targets) {
        let score = row.last().copied().unwrap_or(0.0) + base;
        let applies = score > if probability { 0.5 } else { 0.0 };
        decided.push(match (labels.len(), applies) {
            (2, _) => Class::At(usize::from(applies)),
            (_, true) => Class::Positive,
            (_, false) => Class::Negative,
        });
        let mut pair = [if probability { 1.0 - score } else { -score }, score];
        transform.apply(&mut pair);
        scores.extend(pair);
    }
    let scores = call.floats(ElementType::Float, &[rows, 2], scores)?;
    Ok(vec![labels.name(call, &decided)?, scores].into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;
    use crate::testing::{OneNode, floats, node_of, typed};
    use crate::value::Value;

    fn outputs(node: OneNode) -> (Vec<f64>, Vec<f64>) {
        match &node.outputs(2).run().unwrap()[..] {
            [Value::Tensor(labels), Value::Tensor(scores)] => (labels.floats(), scores.floats()),
            other => panic!("{other:?}"),
        }
    }

    /// Tree 0: x <= 1 leads to node 1, else to node 2, both leaves. Tree 7: one leaf, node 0.
    fn two_trees(op: &str, x: Tensor, mode: &str) -> OneNode {
        node_of("ai.onnx.ml", op, 1)
            .input(x)
            .set("nodes_treeids", &[0, 0, 0, 7][..])
            .set("nodes_nodeids", &[0, 1, 2, 0][..])
            .set("nodes_featureids", &[0, 0, 0, 0][..])
            .set("nodes_modes", &[mode, "LEAF", "LEAF", "LEAF"][..])
            .set("nodes_truenodeids", &[1, 0, 0, 0][..])
            .set("nodes_falsenodeids", &[2, 0, 0, 0][..])
    }

    fn regressor(mode: &str) -> OneNode {
        two_trees("TreeEnsembleRegressor", floats(&[3, 1], &[0.0, 1.0, f64::NAN]), mode)
            .set("nodes_values", &[1.0f32, 0.0, 0.0, 0.0][..])
            .set("n_targets", 2)
            .set("target_treeids", &[0, 0, 0, 7][..])
            .set("target_nodeids", &[1, 1, 2, 0][..])
            .set("target_ids", &[0, 1, 0, 0][..])
            .set("target_weights", &[1.0f32, 5.0, 2.0, -3.0][..])
    }

    #[test]
    fn an_unknown_mode_is_named() {
        assert!(regressor("BRANCH").error().contains("nodes_modes contains 'BRANCH'"));
    }

    #[test]
    fn hostile_trees_are_refused() {
        let cycle = regressor("BRANCH_LT").set("nodes_truenodeids", &[0, 0, 0, 0][..]);
        assert!(cycle.error().contains("among its own descendants"));
        let nowhere = regressor("BRANCH_LT").set("nodes_falsenodeids", &[9, 0, 0, 0][..]);
        assert!(nowhere.error().contains("leads to node 9"));
        let feature = regressor("BRANCH_LT").set("nodes_featureids", &[1, 0, 0, 0][..]);
        assert!(feature.error().contains("tests feature 1, but the input has 1"));
        assert!(regressor("BRANCH_LT").set("target_ids", &[0, 2, 0, 0][..]).error().contains("votes for target 2"));
        assert!(regressor("BRANCH_LT").set("target_ids", &[0, -1, 0, 0][..]).error().contains("negative"));
        assert!(regressor("BRANCH_LT").set("nodes_nodeids", &[0, 1, 1, 0][..]).error().contains("appears twice"));
        assert!(regressor("BRANCH_LT").set("n_targets", i64::MAX).run().is_err());
    }

    #[test]
    fn votes_for_one_class_decide_between_two() {
        let node = |weights: &[f32]| {
            two_trees("TreeEnsembleClassifier", floats(&[2, 1], &[1.0, 2.0]), "BRANCH_LEQ")
                .set("nodes_values", &[1.0f32, 0.0, 0.0, 0.0][..])
                .set("class_treeids", &[0, 0, 7][..])
                .set("class_nodeids", &[1, 2, 0][..])
                .set("class_ids", &[0, 0, 0][..])
                .set("classlabels_int64s", &[4, 5][..])
                .set("class_weights", weights)
        };
        let positive = outputs(node(&[0.75, 0.25, 0.0]));
        assert_eq!(positive, (vec![5.0, 4.0], vec![0.25, 0.75, 0.75, 0.25]));
        let mixed = outputs(node(&[0.75, -0.25, 0.0]));
        assert_eq!(mixed, (vec![5.0, 4.0], vec![-0.75, 0.75, 0.25, -0.25]));
        let (labels, scores) = outputs(node(&[0.0, -1e6, 0.0]).set("post_transform", "LOGISTIC"));
        assert_eq!((labels, scores), (vec![4.0, 4.0], vec![0.5, 0.5, 1.0, 0.0]));
    }

    fn ensemble(x: Tensor) -> OneNode {
        let element = x.element_type();
        node_of("ai.onnx.ml", "TreeEnsemble", 5)
            .input(x)
            .set("n_targets", 1)
            .set("tree_roots", &[0][..])
            .set("nodes_featureids", &[0, 0][..])
            .set("nodes_modes", typed(ElementType::Uint8, &[2], &[6.0, 0.0]))
            .set("nodes_splits", typed(element, &[2], &[0.0, 2.0]))
            .set("nodes_truenodeids", &[0, 1][..])
            .set("nodes_trueleafs", &[1, 1][..])
            .set("nodes_falsenodeids", &[1, 2][..])
            .set("nodes_falseleafs", &[0, 1][..])
            .set("leaf_targetids", &[0, 0, 0][..])
            .set("leaf_weights", typed(element, &[3], &[10.0, 20.0, 30.0]))
    }

    #[test]
    fn members_may_include_zero() {
        for element in [ElementType::Float, ElementType::Double, ElementType::Float16] {
            let x = typed(element, &[4, 1], &[0.0, 5.0, 2.0, f64::NAN]);
            let members =
                |values: &[f64]| ensemble(x.clone()).set("membership_values", typed(element, &[values.len()], values));
            let y = members(&[0.0, 5.0, f64::NAN]).tensor();
            assert_eq!((y.element_type(), y.floats()), (element, vec![10.0, 10.0, 20.0, 30.0]));
            assert!(members(&[0.0, f64::NAN, 1.0, f64::NAN]).error().contains("2 sets, but 1 nodes"));
            assert!(ensemble(x).error().contains("0 sets, but 1 nodes"));
        }
    }

    #[test]
    fn indices_beyond_nodes_and_leaves_are_refused() {
        let node = || ensemble(floats(&[1, 1], &[0.0])).set("membership_values", floats(&[1], &[f64::NAN]));
        assert!(node().set("tree_roots", &[2][..]).error().contains("tree_roots contains 2"));
        assert!(node().set("nodes_truenodeids", &[3, 1][..]).error().contains("nodes_truenodeids contains 3"));
        assert!(node().set("nodes_falsenodeids", &[0, 2][..]).error().contains("among its own descendants"));
        assert!(node().set("aggregate_function", 4).error().contains("aggregate_function is 4"));
        assert!(node().set("post_transform", 5).error().contains("post_transform is 5"));
    }
}
