//! Tree ensembles as a graph of nodes: read from nodes with ids, and written as separate lists of branches and leaves.

use std::collections::{HashMap, HashSet};

use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};

use crate::bounded;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{get, get_floats, get_ints, get_strings};

/// Comparisons of a node, by their number in `TreeEnsemble`.
const MODES: [&str; 6] = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"];

/// Mode of a leaf among nodes with ids.
const LEAF: &str = "LEAF";

/// Vote of a leaf: target and weight.
type Vote = (i64, f64);

/// Trees over nodes by position.
pub(super) struct Forest {
    nodes: Vec<Node>,
    /// The first node of each tree.
    roots: Vec<usize>,
}

/// Node of a tree.
enum Node {
    Branch(Branch),
    Leaf(Vec<Vote>),
}

/// Test of a feature.
#[derive(Clone, Copy)]
struct Branch {
    feature: i64,
    /// Position in [`MODES`].
    mode: i64,
    split: f64,
    /// 1 if NaN passes.
    missing: i64,
    /// The nodes after a passed and a failed test.
    children: [usize; 2],
}

/// Selection of the votes of a forest whose leaves may have several, for leaves with one vote each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Votes {
    /// A missing vote is 0, which does not change a sum.
    Sum,
    /// A missing vote repeats the first one, which does not change a minimum or maximum.
    Extreme,
}

/// The lists of `TreeEnsemble`: one entry for each branch, and one for each leaf.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) features: Vec<i64>,
    pub(super) modes: Vec<i64>,
    pub(super) splits: Vec<f64>,
    pub(super) missing: Vec<i64>,
    /// Positions of a branch's children among the branches or leaves: after a passed and a failed test.
    pub(super) children: [Vec<i64>; 2],
    /// 1 for each child that is a leaf.
    pub(super) are_leaves: [Vec<i64>; 2],
    pub(super) votes: Vec<Vote>,
    pub(super) roots: Vec<i64>,
}

impl Forest {
    /// Reads the lists `nodes_*` of nodes with ids, and the votes in lists named `PREFIX_*`.
    pub(super) fn by_ids(node: &NodeProto, prefix: &str) -> Step<Forest> {
        let ints = |name: &str| required(name, get_ints(node, name)?);
        let (trees, ids) = (ints("nodes_treeids")?, ints("nodes_nodeids")?);
        let (features, children) =
            (ints("nodes_featureids")?, [ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?]);
        let modes = required("nodes_modes", get_strings(node, "nodes_modes")?)?;
        let splits = required("nodes_values", numbers_of(node, "nodes_values")?)?;
        let missing = get_ints(node, "nodes_missing_value_tracks_true")?.unwrap_or_default();
        let [if_true, if_false] = &children;
        let lengths = [ids.len(), features.len(), modes.len(), splits.len(), if_true.len(), if_false.len()];
        if lengths.iter().any(|length| *length != trees.len()) || !(missing.is_empty() || missing.len() == trees.len())
        {
            return impossible("the lists nodes_* have different lengths");
        }
        let places: HashMap<(i64, i64), usize> = trees.iter().copied().zip(ids.iter().copied()).zip(0..).collect();
        if places.len() != trees.len() {
            return impossible("a pair of nodes_treeids and nodes_nodeids appears twice");
        }
        let mut votes = votes_by_node(node, prefix)?;
        let (mut nodes, mut roots, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for (index, (tree, id)) in trees.iter().zip(&ids).enumerate() {
            if seen.insert(*tree) {
                roots.push(index);
            }
            let at = |list: &[i64]| list.get(index).copied().unwrap_or(0);
            let mode = modes.get(index).map_or("", String::as_str);
            if mode == LEAF {
                nodes.push(Node::Leaf(votes.remove(&(*tree, *id)).unwrap_or_default()));
                continue;
            }
            let Some(mode) = MODES.iter().zip(0..).find(|(name, _)| **name == mode).map(|(_, number)| number) else {
                return impossible(format!("nodes_modes contains '{mode}', which is not a comparison"));
            };
            let [Some(if_true), Some(if_false)] =
                [at(if_true), at(if_false)].map(|child| places.get(&(*tree, child)).copied())
            else {
                return impossible(format!("node {id} of tree {tree} leads to a node that the tree does not have"));
            };
            nodes.push(Node::Branch(Branch {
                feature: at(&features),
                mode,
                split: splits.get(index).copied().unwrap_or(0.0),
                missing: i64::from(at(&missing) != 0),
                children: [if_true, if_false],
            }));
        }
        let forest = Forest { nodes, roots };
        forest.check_roots()?;
        Ok(forest)
    }

    /// Checks that each tree is read from its top: its first listed node has no parent.
    fn check_roots(&self) -> Step {
        let children: HashSet<usize> = self.branches().flat_map(|branch| branch.children).collect();
        if self.roots.iter().any(|root| children.contains(root)) {
            return impossible("the first listed node of a tree is the child of another node");
        }
        Ok(())
    }

    fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.nodes.iter().filter_map(|node| if let Node::Branch(branch) = node { Some(branch) } else { None })
    }

    fn leaves(&self) -> impl Iterator<Item = &Vec<Vote>> {
        self.nodes.iter().filter_map(|node| if let Node::Leaf(votes) = node { Some(votes) } else { None })
    }

    /// All votes.
    pub(super) fn votes(&self) -> impl Iterator<Item = &Vote> {
        self.leaves().flatten()
    }

    /// The number of trees.
    pub(super) fn trees(&self) -> usize {
        self.roots.len()
    }

    /// The largest number of votes of a leaf, at least 1.
    pub(super) fn votes_of_a_leaf(&self) -> usize {
        self.leaves().map(Vec::len).max().unwrap_or(1).max(1)
    }

    /// True if 32-bit floats represent all splits and weights.
    pub(super) fn is_single(&self) -> bool {
        let splits = self.branches().map(|branch| branch.split);
        splits.chain(self.votes().map(|(_, weight)| *weight)).all(is_single)
    }

    /// Lists the trees with one vote per leaf. A tree whose leaves have several votes appears once for each.
    pub(super) fn lists(&self, selection: Votes) -> Step<Lists> {
        let copies = self.votes_of_a_leaf();
        bounded::elements(&[self.nodes.len(), copies])?;
        let mut lists = Lists::default();
        for &root in &self.roots {
            // bounded: each copy takes one vote of a leaf, and `bounded::elements` above limits nodes times copies.
            for copy in 0..copies {
                self.list_tree(root, copy, selection, &mut lists)?;
            }
        }
        Ok(lists)
    }

    fn list_tree(&self, root: usize, copy: usize, selection: Votes, lists: &mut Lists) -> Step {
        lists.roots.push(position(lists.features.len()));
        if let Some(Node::Leaf(votes)) = self.nodes.get(root) {
            // A tree without branches is one whose branches lead to the same leaf.
            let leaf = lists.push_leaf(votes, copy, selection)?;
            let at = lists.push_branch(&Branch { feature: 0, mode: 0, split: 0.0, missing: 0, children: [0, 0] });
            for side in [0, 1] {
                lists.connect((at, side), leaf, 1);
            }
            return Ok(());
        }
        let (mut seen, mut open) = (HashSet::new(), vec![(root, None)]);
        while let Some((index, parent)) = open.pop() {
            let (place, is_leaf) = match self.nodes.get(index) {
                Some(Node::Branch(branch)) => {
                    if !seen.insert(index) {
                        return impossible("a branch is the child of two nodes, or its own descendant");
                    }
                    let at = lists.push_branch(branch);
                    let [if_true, if_false] = branch.children;
                    open.extend([(if_false, Some((at, 1))), (if_true, Some((at, 0)))]);
                    (position(at), 0)
                }
                Some(Node::Leaf(votes)) => (lists.push_leaf(votes, copy, selection)?, 1),
                None => return impossible("a node of a tree is missing"),
            };
            if let Some(parent) = parent {
                lists.connect(parent, place, is_leaf);
            }
        }
        Ok(())
    }
}

impl Lists {
    fn push_branch(&mut self, branch: &Branch) -> usize {
        self.features.push(branch.feature);
        self.modes.push(branch.mode);
        self.splits.push(branch.split);
        self.missing.push(branch.missing);
        self.children.iter_mut().chain(&mut self.are_leaves).for_each(|list| list.push(0));
        self.features.len() - 1
    }

    fn push_leaf(&mut self, votes: &[Vote], copy: usize, selection: Votes) -> Step<i64> {
        let vote = match (votes.get(copy), selection, votes.first()) {
            (Some(vote), ..) | (None, Votes::Extreme, Some(vote)) => *vote,
            (None, Votes::Sum, _) => (0, 0.0),
            (None, Votes::Extreme, None) => {
                return impossible("a leaf has no vote, so no minimum or maximum includes it");
            }
        };
        self.votes.push(vote);
        Ok(position(self.votes.len() - 1))
    }

    /// Sets a child of a branch: the one on this side.
    fn connect(&mut self, (branch, side): (usize, usize), place: i64, is_leaf: i64) {
        for (lists, value) in [(&mut self.children, place), (&mut self.are_leaves, is_leaf)] {
            if let Some(entry) = lists.get_mut(side).and_then(|list| list.get_mut(branch)) {
                *entry = value;
            }
        }
    }
}

/// Nodes with ids, in the lists of `TreeEnsembleRegressor`.
#[derive(Default)]
pub(super) struct NodesWithIds {
    pub(super) trees: Vec<i64>,
    pub(super) ids: Vec<i64>,
    pub(super) features: Vec<i64>,
    pub(super) modes: Vec<String>,
    pub(super) splits: Vec<f64>,
    pub(super) missing: Vec<i64>,
    pub(super) children: [Vec<i64>; 2],
    /// Tree and node of each vote.
    pub(super) voters: Vec<(i64, i64)>,
    pub(super) votes: Vec<Vote>,
}

impl Lists {
    /// Reads the lists of `TreeEnsemble`.
    pub(super) fn of(node: &NodeProto) -> Step<Lists> {
        let ints = |name: &str| required(name, get_ints(node, name)?);
        let tensor = |name: &str| required(name, tensor_of(node, name)?);
        #[expect(clippy::cast_possible_truncation, reason = "numbers of modes, of type uint8")]
        let modes: Vec<i64> = tensor("nodes_modes")?.into_iter().map(|mode| mode as i64).collect();
        let (targets, weights) = (ints("leaf_targetids")?, tensor("leaf_weights")?);
        let lists = Lists {
            features: ints("nodes_featureids")?,
            splits: tensor("nodes_splits")?,
            missing: get_ints(node, "nodes_missing_value_tracks_true")?.unwrap_or_default(),
            children: [ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?],
            are_leaves: [ints("nodes_trueleafs")?, ints("nodes_falseleafs")?],
            roots: ints("tree_roots")?,
            modes,
            votes: targets.iter().copied().zip(weights.iter().copied()).collect(),
        };
        let children = lists.children.iter().chain(&lists.are_leaves).map(Vec::len);
        let lengths = [lists.features.len(), lists.splits.len()].into_iter().chain(children);
        let has_missing = [0, lists.modes.len()].contains(&lists.missing.len());
        if lengths.into_iter().any(|length| length != lists.modes.len()) || !has_missing {
            return impossible("the lists nodes_* have different lengths");
        }
        if targets.len() != weights.len() {
            return impossible("leaf_targetids and leaf_weights have different lengths");
        }
        Ok(lists)
    }

    /// True if 32-bit floats represent all splits and weights.
    pub(super) fn is_single(&self) -> bool {
        self.splits.iter().chain(self.votes.iter().map(|(_, weight)| weight)).all(|value| is_single(*value))
    }

    /// Lists branches and leaves with ids, counted in each tree.
    pub(super) fn with_ids(&self) -> Step<NodesWithIds> {
        let (mut nodes, mut seen) = (NodesWithIds::default(), HashSet::new());
        for (root, tree) in self.roots.iter().zip(0..) {
            let first = nodes.trees.len();
            let mut open = vec![(*root, false, None)];
            while let Some((place, is_leaf, parent)) = open.pop() {
                let id = position(nodes.trees.len() - first);
                if let Some((parent, side)) = parent
                    && let Some(entry) =
                        nodes.children.get_mut::<usize>(side).and_then(|list| list.get_mut::<usize>(parent))
                {
                    *entry = id;
                }
                let at = nodes.trees.len();
                let Ok(place) = usize::try_from(place) else { return impossible("a child is negative") };
                if is_leaf {
                    let Some(vote) = self.votes.get(place) else { return impossible("a leaf is missing") };
                    nodes.voters.push((tree, id));
                    nodes.votes.push(*vote);
                    nodes.push((tree, id), (0, LEAF, 0.0, 0));
                    continue;
                }
                if !seen.insert(place) {
                    return impossible("a branch is the child of two nodes, or its own descendant");
                }
                nodes.push((tree, id), self.branch(place)?);
                for side in [1, 0] {
                    let child = |lists: &[Vec<i64>; 2]| lists.get(side).and_then(|list| list.get(place)).copied();
                    open.push((
                        child(&self.children).unwrap_or(-1),
                        child(&self.are_leaves) != Some(0),
                        Some((at, side)),
                    ));
                }
            }
        }
        Ok(nodes)
    }

    /// Feature, mode, split and direction of NaN of a branch.
    fn branch(&self, place: usize) -> Step<(i64, &'static str, f64, i64)> {
        let (Some(feature), Some(mode), Some(split)) =
            (self.features.get(place), self.modes.get(place), self.splits.get(place))
        else {
            return impossible("a branch is missing");
        };
        let missing = self.missing.get(place).copied().unwrap_or(0);
        match MODES.iter().zip(0..).find(|(_, number)| number == mode) {
            Some((name, _)) => Ok((*feature, name, *split, missing)),
            None => impossible(format!(
                "a node has mode {mode}; TreeEnsembleRegressor has only {} (0 to 5), no test for members of a set (6)",
                MODES.join(", ")
            )),
        }
    }
}

impl NodesWithIds {
    fn push(&mut self, (tree, id): (i64, i64), (feature, mode, split, missing): (i64, &str, f64, i64)) {
        self.trees.push(tree);
        self.ids.push(id);
        self.features.push(feature);
        self.modes.push(mode.to_owned());
        self.splits.push(split);
        self.missing.push(missing);
        self.children.iter_mut().for_each(|list| list.push(0));
    }
}

/// The votes of each leaf, by tree and node.
fn votes_by_node(node: &NodeProto, prefix: &str) -> Step<HashMap<(i64, i64), Vec<Vote>>> {
    let name = |what: &str| format!("{prefix}_{what}");
    let ints = |what: &str| required(&name(what), get_ints(node, &name(what))?);
    let (trees, nodes, targets) = (ints("treeids")?, ints("nodeids")?, ints("ids")?);
    let weights = required(&name("weights"), numbers_of(node, &name("weights"))?)?;
    if [nodes.len(), targets.len(), weights.len()].iter().any(|length| *length != trees.len()) {
        return impossible(format!("the lists {prefix}_* have different lengths"));
    }
    let mut votes: HashMap<(i64, i64), Vec<Vote>> = HashMap::new();
    for ((tree, node), vote) in trees.into_iter().zip(nodes).zip(targets.into_iter().zip(weights)) {
        votes.entry((tree, node)).or_default().push(vote);
    }
    Ok(votes)
}

/// A list of floats, or the tensor of doubles that may replace it.
pub(super) fn numbers_of(node: &NodeProto, name: &str) -> Step<Option<Vec<f64>>> {
    if let Some(values) = get_floats(node, name)? {
        return Ok(Some(values.into_iter().map(f64::from).collect()));
    }
    tensor_of(node, &format!("{name}_as_tensor"))
}

/// The elements of a tensor in an attribute.
fn tensor_of(node: &NodeProto, name: &str) -> Step<Option<Vec<f64>>> {
    let Some(attribute) = get(node, name)? else { return Ok(None) };
    match attribute.t.as_deref().map(|tensor| decode::tensor(tensor, &NoExternalData)) {
        Some(Ok(tensor)) => Ok(Some(tensor.floats())),
        _ => impossible(format!("the elements of attribute {name} are not read: it is a large tensor, or has none")),
    }
}

fn required<T>(name: &str, value: Option<T>) -> Step<T> {
    match value {
        Some(value) => Ok(value),
        None => impossible(format!("attribute {name} is missing")),
    }
}

/// True if a 32-bit float represents a value.
fn is_single(value: f64) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
    let narrow = value as f32;
    f64::from(narrow) == value || value.is_nan()
}

fn position(index: usize) -> i64 {
    super::axes::as_int(index)
}
