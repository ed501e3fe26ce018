//! Construction of tree ensembles from the parallel lists of the attributes.

use std::collections::HashMap;

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result, meaning};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::ml::tree_ensemble::forest::{Branch, Comparison, Forest, Node, Test};
use crate::tensor::Tensor;

/// Reads a forest in the form of the classifier and the regressor. Nodes have tree and node ids, leaves are among them,
/// and the votes are in lists named `PREFIX_*`.
pub(super) fn by_node_ids(call: &Call<'_>, prefix: &str) -> Result<Forest> {
    let lists = NodeLists::from_call(call)?;
    if prefix == "target" {
        lists.check_ids()?;
    }
    let votes = votes_by_node(call, prefix)?;
    let mut forest = Forest { nodes: Vec::new(), roots: Vec::new(), votes: Vec::new() };
    let mut trees = std::collections::HashSet::new();
    for (index, &key) in lists.keys.iter().enumerate() {
        if trees.insert(key.0) {
            forest.roots.push(index);
        }
        let node = if let Some(test) = lists.test(call, index)? {
            Node::Branch(lists.branch(index, key.0, test)?)
        } else {
            let start = forest.votes.len();
            forest.votes.extend(votes.get(&key).into_iter().flatten());
            Node::Leaf(start..forest.votes.len())
        };
        forest.nodes.push(node);
    }
    refuse_cycles(&forest)?;
    Ok(forest)
}

/// Values of `nodes_modes`. A leaf compares nothing.
const MODES: &[(&str, Option<Comparison>)] = &[
    ("BRANCH_LEQ", Some(Comparison::LessOrEqual)),
    ("BRANCH_LT", Some(Comparison::Less)),
    ("BRANCH_GTE", Some(Comparison::GreaterOrEqual)),
    ("BRANCH_GT", Some(Comparison::Greater)),
    ("BRANCH_EQ", Some(Comparison::Equal)),
    ("BRANCH_NEQ", Some(Comparison::NotEqual)),
    ("LEAF", None),
];

/// Id of a tree, and of a node in it.
type Key = (i64, i64);

/// Lists named `nodes_*`, with one element per node.
struct NodeLists<'a> {
    keys: Vec<Key>,
    places: HashMap<Key, usize>,
    features: &'a [i64],
    modes: Vec<std::sync::Arc<str>>,
    values: Vec<f64>,
    if_true: &'a [i64],
    if_false: &'a [i64],
    missing: &'a [i64],
}

impl<'a> NodeLists<'a> {
    fn from_call(call: &Call<'a>) -> Result<NodeLists<'a>> {
        let trees = required(call, "nodes_treeids")?;
        let ids = required(call, "nodes_nodeids")?;
        let keys: Vec<Key> = trees.iter().copied().zip(ids.iter().copied()).collect();
        let lists = NodeLists {
            places: keys.iter().enumerate().map(|(index, &key)| (key, index)).collect(),
            features: required(call, "nodes_featureids")?,
            modes: call.optional_strings("nodes_modes").ok_or_else(|| invalid("nodes_modes is not set"))?,
            values: floats_or_tensor(call, "nodes_values")?.ok_or_else(|| invalid("nodes_values is not set"))?,
            if_true: required(call, "nodes_truenodeids")?,
            if_false: required(call, "nodes_falsenodeids")?,
            missing: call.optional_ints("nodes_missing_value_tracks_true").unwrap_or_default(),
            keys,
        };
        same_lengths(&[
            ("nodes_treeids", trees.len()),
            ("nodes_nodeids", ids.len()),
            ("nodes_featureids", lists.features.len()),
            ("nodes_modes", lists.modes.len()),
            ("nodes_values", lists.values.len()),
            ("nodes_truenodeids", lists.if_true.len()),
            ("nodes_falsenodeids", lists.if_false.len()),
        ])
        .rule("C7")?;
        optional_length("nodes_missing_value_tracks_true", lists.missing.len(), lists.keys.len()).rule("C7")?;
        if lists.places.len() != lists.keys.len() {
            return Err(invalid(
                "a pair of nodes_treeids and nodes_nodeids appears twice; each must identify one node",
            ));
        }
        Ok(lists)
    }

    /// Refuses ids that are not 0, 1, 2 and so on in each tree.
    fn check_ids(&self) -> Result<()> {
        let mut next: HashMap<i64, i64> = HashMap::new();
        for &(tree, id) in &self.keys {
            let expected = next.entry(tree).or_default();
            if id != *expected {
                return Err(broken("C9", format!("node {id} of tree {tree} follows node {}", *expected - 1)));
            }
            *expected += 1;
        }
        Ok(())
    }

    /// Returns the test of a node, or `None` for a leaf.
    fn test(&self, call: &Call<'_>, index: usize) -> Result<Option<Test>> {
        let Some(mode) = self.modes.get(index) else { return Ok(None) };
        if !call.spec.allows("nodes_modes", mode) {
            let names = call.allowed("nodes_modes");
            return Err(broken("C3", format!("nodes_modes contains '{mode}'; allowed are {names}")));
        }
        let value = self.values.get(index).copied().unwrap_or(0.0);
        Ok(meaning("nodes_modes", mode, MODES)?.map(|comparison| Test::Compare(comparison, value)))
    }

    fn branch(&self, index: usize, tree: i64, test: Test) -> Result<Branch> {
        let child = |ids: &[i64]| {
            let id = element(ids, index);
            let missing =
                || broken("C1", format!("a node of tree {tree} leads to node {id}, which the tree does not have"));
            self.places.get(&(tree, id)).copied().ok_or_else(missing)
        };
        Ok(Branch {
            feature: non_negative_index("nodes_featureids", element(self.features, index))?,
            test,
            missing_is_true: element(self.missing, index) != 0,
            if_true: child(self.if_true)?,
            if_false: child(self.if_false)?,
        })
    }
}

/// Returns the votes of each leaf: target and weight.
fn votes_by_node(call: &Call<'_>, prefix: &str) -> Result<HashMap<Key, Vec<(usize, f64)>>> {
    let name = |what: &str| format!("{prefix}_{what}");
    let (trees, nodes) = (required(call, &name("treeids"))?, required(call, &name("nodeids"))?);
    let ids = required(call, &name("ids"))?;
    let weights = floats_or_tensor(call, &name("weights"))?;
    let weights = weights.ok_or_else(|| invalid(format!("{} is not set", name("weights"))))?;
    same_lengths(&[
        (&name("ids"), ids.len()),
        (&name("treeids"), trees.len()),
        (&name("nodeids"), nodes.len()),
        (&name("weights"), weights.len()),
    ])
    .rule("C7")?;
    let mut votes: HashMap<Key, Vec<(usize, f64)>> = HashMap::new();
    let keys = trees.iter().copied().zip(nodes.iter().copied());
    for (key, (&id, weight)) in keys.zip(ids.iter().zip(weights)) {
        votes.entry(key).or_default().push((non_negative_index(&name("ids"), id)?, weight));
    }
    Ok(votes)
}

/// Returns the modes of the nodes, which are bytes.
fn modes_of_bytes<'a>(call: &Call<'a>) -> Result<&'a Tensor> {
    let modes = tensor(call, "nodes_modes")?;
    match modes.element_type() {
        ElementType::Uint8 => Ok(modes),
        other => Err(broken("C3", format!("nodes_modes is tensor({other}), but must be tensor(uint8)"))),
    }
}

/// Reads a forest in the form of `TreeEnsemble`: inner nodes and leaves in separate lists, by index.
pub(super) fn by_leaves(call: &Call<'_>) -> Result<Forest> {
    let (modes, splits) =
        (call.budget.read_integers(modes_of_bytes(call)?)?, call.budget.read_floats(tensor(call, "nodes_splits")?)?);
    let features = required(call, "nodes_featureids")?;
    let (if_true, true_is_leaf) = (required(call, "nodes_truenodeids")?, required(call, "nodes_trueleafs")?);
    let (if_false, false_is_leaf) = (required(call, "nodes_falsenodeids")?, required(call, "nodes_falseleafs")?);
    let missing = call.optional_ints("nodes_missing_value_tracks_true").unwrap_or_default();
    let (targets, weights) =
        (required(call, "leaf_targetids")?, call.budget.read_floats(tensor(call, "leaf_weights")?)?);
    let count = modes.len();
    same_lengths(&[
        ("nodes_modes", count),
        ("nodes_splits", splits.len()),
        ("nodes_featureids", features.len()),
        ("nodes_truenodeids", if_true.len()),
        ("nodes_trueleafs", true_is_leaf.len()),
        ("nodes_falsenodeids", if_false.len()),
        ("nodes_falseleafs", false_is_leaf.len()),
    ])
    .rule("C6")?;
    optional_length("nodes_missing_value_tracks_true", missing.len(), count).rule("C6")?;
    same_lengths(&[("leaf_targetids", targets.len()), ("leaf_weights", weights.len())]).rule("C6")?;
    let mut members = member_sets(call, &modes)?.into_iter();
    let child = |name: &str, ids: &[i64], leafs: &[i64], index: usize| match element(leafs, index) {
        0 => bounded_index(name, element(ids, index), count),
        _ => Ok(count + bounded_index(name, element(ids, index), weights.len())?),
    };
    let mut nodes = Vec::new();
    for (index, (mode, &split)) in modes.iter().zip(&splits).enumerate() {
        let test = match mode {
            0 => Test::Compare(Comparison::LessOrEqual, split),
            1 => Test::Compare(Comparison::Less, split),
            2 => Test::Compare(Comparison::GreaterOrEqual, split),
            3 => Test::Compare(Comparison::Greater, split),
            4 => Test::Compare(Comparison::Equal, split),
            5 => Test::Compare(Comparison::NotEqual, split),
            6 => Test::Member(members.next().unwrap_or_default()),
            other => return Err(broken("C3", format!("nodes_modes contains {other}; allowed are 0 to 6"))),
        };
        nodes.push(Node::Branch(Branch {
            feature: non_negative_index("nodes_featureids", element(features, index))?,
            test,
            missing_is_true: element(missing, index) != 0,
            if_true: child("nodes_truenodeids", if_true, true_is_leaf, index)?,
            if_false: child("nodes_falsenodeids", if_false, false_is_leaf, index)?,
        }));
    }
    nodes.extend((0..weights.len()).map(|index| Node::Leaf(index..index + 1)));
    let target = |&target: &i64| non_negative_index("leaf_targetids", target);
    let targets = targets.iter().map(target).collect::<Result<Vec<_>>>()?;
    let votes = targets.into_iter().zip(weights).collect();
    let root = |&root: &i64| bounded_index("tree_roots", root, count);
    let roots = required(call, "tree_roots")?.iter().map(root).collect::<Result<_>>()?;
    let forest = Forest { nodes, roots, votes };
    refuse_cycles(&forest)?;
    Ok(forest)
}

/// Returns the members for each node that tests membership, in node order. NaN ends a set.
fn member_sets(call: &Call<'_>, modes: &[i128]) -> Result<Vec<Vec<f64>>> {
    let values = call
        .tensor_attribute("membership_values")
        .map(|tensor| call.budget.read_floats(tensor))
        .transpose()?
        .unwrap_or_default();
    let mut sets: Vec<Vec<f64>> = values.split(|value| value.is_nan()).map(<[f64]>::to_vec).collect();
    if sets.last().is_some_and(Vec::is_empty) {
        sets.pop();
    }
    let expected = modes.iter().filter(|&&mode| mode == 6).count();
    if sets.len() != expected {
        let found = sets.len();
        return Err(broken(
            "C5",
            format!("membership_values contains {found} sets, but {expected} nodes test for membership"),
        ));
    }
    Ok(sets)
}

/// Refuses cycles, so that every row ends at a leaf.
fn refuse_cycles(forest: &Forest) -> Result<()> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Seen {
        Never,
        OnPath,
        Done,
    }
    let children = |place: usize| match forest.nodes.get(place) {
        Some(Node::Branch(branch)) => [Some(branch.if_true), Some(branch.if_false)],
        _ => [None, None],
    };
    let mut seen: Vec<Seen> = forest.nodes.iter().map(|_| Seen::Never).collect();
    for &root in &forest.roots {
        let mut path = vec![(root, false)];
        while let Some((place, left)) = path.pop() {
            let Some(state) = seen.get_mut(place) else { continue };
            match (left, *state) {
                (true, _) => *state = Seen::Done,
                (false, Seen::Done) => {}
                (false, Seen::OnPath) => {
                    return Err(broken(
                        "C1",
                        "a node of a tree is among its own descendants, so its evaluation might not end",
                    ));
                }
                (false, Seen::Never) => {
                    *state = Seen::OnPath;
                    path.push((place, true));
                    path.extend(children(place).into_iter().flatten().map(|child| (child, false)));
                }
            }
        }
    }
    Ok(())
}

/// Returns a list of floats, or the tensor of doubles that may replace it since version 3.
pub(super) fn floats_or_tensor(call: &Call<'_>, name: &str) -> Result<Option<Vec<f64>>> {
    let tensor = call
        .tensor_attribute(&format!("{name}_as_tensor"))
        .map(|tensor| call.budget.read_floats(tensor))
        .transpose()?;
    match (call.optional_floats(name), tensor) {
        (Some(_), Some(_)) => Err(broken("C6", format!("{name} and {name}_as_tensor are both set; only one may be"))),
        (list, tensor) => Ok(list.or(tensor)),
    }
}

fn required<'a>(call: &Call<'a>, name: &str) -> Result<&'a [i64]> {
    call.optional_ints(name).ok_or_else(|| invalid(format!("{name} is not set")))
}

fn tensor<'a>(call: &Call<'a>, name: &str) -> Result<&'a Tensor> {
    call.tensor_attribute(name).ok_or_else(|| invalid(format!("{name} is not set")))
}

fn element(list: &[i64], index: usize) -> i64 {
    list.get(index).copied().unwrap_or(0)
}

/// Converts a number of an attribute to an index below `count`.
fn bounded_index(name: &str, value: i64, count: usize) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|&place| place < count)
        .ok_or_else(|| broken("C1", format!("{name} contains {value}, which is outside [0, {count})")))
}

/// Converts a number of an attribute to an index whose limit is checked later.
fn non_negative_index(name: &str, value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| invalid(format!("{name} contains {value}, which is negative")))
}

fn same_lengths(lists: &[(&str, usize)]) -> Result<()> {
    let differs = lists.windows(2).find_map(|pair| match pair {
        [a, b] if a.1 != b.1 => Some((a, b)),
        _ => None,
    });
    match differs {
        Some(((a, m), (b, n))) => Err(invalid(format!("{a} has {m} elements and {b} {n}; the numbers must be equal"))),
        None => Ok(()),
    }
}

fn optional_length(name: &str, found: usize, expected: usize) -> Result<()> {
    if found != 0 && found != expected {
        return Err(invalid(format!("{name} has {found} elements for {expected} nodes")));
    }
    Ok(())
}
