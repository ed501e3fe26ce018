//! Safe edits that a check suggests, applied to a file: none changes what the model computes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, Text, ValueInfoProto,
};
use onnx_conformance_reference::spec::canonical_domain;

use super::declare::declaration;
use super::graph_edits::{GraphEdits, GraphPath, ModelEdits};
use super::model::{PLAIN_INITIALIZERS, PlacedEdit};
use super::write::BrokenFile;
use crate::finding::{Finding, PathStep, Place};
use crate::infer::{BodyId, infer_facts};
use crate::limits::Limits;
use crate::rules::RuleId;
use crate::validity::{IrFacts, Report, check};

/// Maximum number of checks: an edit may make others possible, such as the removal of a node whose reader was removed.
const MAX_ROUNDS: usize = 32;

/// Fixed model.
#[derive(Debug)]
pub struct Fixed {
    /// The file.
    pub file: Vec<u8>,
    /// The applied edits.
    pub edits: Vec<PlacedEdit>,
}

/// Applies the edits of all fixable findings to the model in a file, and those that they make possible; `None` if there are none.
pub fn fix(file: &[u8], limits: &Limits) -> Result<Option<Fixed>, BrokenFile> {
    let mut fixed: Option<Fixed> = None;
    for _ in 0..MAX_ROUNDS {
        let current = fixed.as_ref().map_or(file, |fixed| &fixed.file);
        let report = check(current, None, limits);
        let mut round = Round::default();
        round.collect(&report, limits);
        if round.texts.is_empty() || limits.deadline.is_over() {
            break;
        }
        let new = round.edits.apply(current)?;
        let mut edits = fixed.map(|fixed| fixed.edits).unwrap_or_default();
        edits.extend(round.texts);
        fixed = Some(Fixed { file: new, edits });
    }
    Ok(fixed)
}

/// Edits of one check.
#[derive(Default)]
struct Round {
    edits: ModelEdits,
    texts: Vec<PlacedEdit>,
}

impl Round {
    fn collect(&mut self, report: &Report, limits: &Limits) {
        let (Some(scan), Some(facts)) = (&report.scan, &report.facts) else { return };
        let model = &scan.model;
        let ir = sufficient_ir(&facts.ir);
        for finding in report.findings.iter().filter(|finding| finding.fixable) {
            match finding.rule {
                RuleId::OpsetUnused => self.remove_imports(model, &facts.unused, finding),
                RuleId::OpsetRepeated => self.remove_repeated(model, finding),
                rule if rule.id().starts_with("ir/") => {
                    if self.edits.ir.is_none() {
                        self.edits.ir = Some(ir);
                        let constants = self.undeclared_constants(model, ir);
                        self.add(finding, format!("ir_version becomes {ir}{constants}"));
                    }
                }
                _ => self.collect_for_graph(model, finding, limits),
            }
        }
        for (path, edits) in &mut self.edits.graphs {
            if let Some(graph) = graph_at(model, path) {
                edits.nodes = edits.nodes.take().map(|kept| sorted(graph, &kept));
            }
        }
    }

    /// Removes the constants of subgraphs from their inputs if the new IR version requires it; returns the words for the edit.
    fn undeclared_constants(&mut self, model: &ModelProto, ir: i64) -> &'static str {
        let is_needed = model.ir_version() < PLAIN_INITIALIZERS && ir >= PLAIN_INITIALIZERS;
        let Some(graph) = model.graph.as_ref().filter(|_| is_needed) else { return "" };
        if self.undeclare_constants(graph, &GraphPath::new()) {
            ", and the constants of subgraphs are no longer their inputs"
        } else {
            ""
        }
    }

    /// Removes the constants of the subgraphs in a graph from their inputs; returns true if there are any.
    fn undeclare_constants(&mut self, graph: &GraphProto, path: &GraphPath) -> bool {
        let mut has_any = false;
        for (index, node) in graph.node.iter().enumerate() {
            for (at, attribute) in node.attribute.iter().enumerate() {
                let Some(subgraph) = attribute.g.as_deref() else { continue };
                let mut below = path.clone();
                below.push((index, at));
                let names: HashSet<&str> = subgraph.initializer.iter().map(TensorProto::name).collect();
                let is_constant = |input: &&ValueInfoProto| names.contains(input.name());
                let count = subgraph.input.iter().rev().take_while(is_constant).count();
                if count > 0 {
                    self.edits.graphs.entry(below.clone()).or_default().removed_inputs = count;
                    has_any = true;
                }
                has_any |= self.undeclare_constants(subgraph, &below);
            }
        }
        has_any
    }

    fn add(&mut self, finding: &Finding, text: String) {
        self.texts.push(PlacedEdit { place: finding.place.to_string(), text });
    }

    fn remove_imports(&mut self, model: &ModelProto, domains: &[String], finding: &Finding) {
        for (index, import) in model.opset_import.iter().enumerate() {
            if domains.iter().any(|domain| domain == canonical_domain(import.domain())) {
                self.edits.removed_imports.insert(index);
            }
        }
        self.add(finding, format!("the unused imports of {} are removed", domains.join(", ")));
    }

    fn remove_repeated(&mut self, model: &ModelProto, finding: &Finding) {
        let mut seen = HashSet::new();
        let repeated: Vec<usize> = model
            .opset_import
            .iter()
            .enumerate()
            .filter(|(_, import)| !seen.insert((canonical_domain(import.domain()), import.version())))
            .map(|(index, _)| index)
            .collect();
        if repeated.iter().any(|index| !self.edits.removed_imports.contains(index)) {
            self.edits.removed_imports.extend(repeated);
            self.add(finding, "repeated imports are removed".to_owned());
        }
    }

    fn collect_for_graph(&mut self, model: &ModelProto, finding: &Finding, limits: &Limits) {
        let Some((path, graph)) = find_graph(model, &finding.place) else { return };
        let all = || (0..graph.node.len()).collect::<Vec<usize>>();
        let edits: &mut GraphEdits = self.edits.graphs.entry(path).or_default();
        let node = finding.place.node.as_ref().map(|node| node.index);
        let text = match (finding.rule, node) {
            (RuleId::ValueUnsorted, _) => {
                edits.nodes.get_or_insert_with(all);
                "the nodes are sorted".to_owned()
            }
            (RuleId::NodeDead, Some(node)) => {
                edits.nodes.get_or_insert_with(all).retain(|kept| *kept != node);
                "the unused node is removed".to_owned()
            }
            (RuleId::NodeName, Some(node)) => {
                let name = unused_name(graph, node, &edits.node_names);
                let text = format!("the node is renamed '{name}'");
                edits.node_names.insert(node, name);
                text
            }
            (RuleId::GraphName, _) => {
                edits.name = Some("graph".to_owned());
                "the graph is named 'graph'".to_owned()
            }
            (RuleId::GraphOutputType, _) => {
                let inferred = infer_facts(model, limits);
                let undeclared = |index: &usize| {
                    graph.output.get(*index).is_some_and(|output| {
                        output.r#type.as_ref().is_none_or(|declared| declared.value.is_none())
                            && finding.place.item.as_deref() == Some(&format!("output '{}'", output.name()))
                    })
                };
                let Some(index) = (0..graph.output.len()).find(undeclared) else { return };
                let name = graph.output.get(index).map_or("", ValueInfoProto::name);
                let fact = inferred.value(BodyId::MAIN, name).cloned().unwrap_or_default();
                let Some(declared) = declaration(&fact, &super::file_edits::dimension_names(model)) else { return };
                edits.output_types.insert(index, declared);
                format!("the output is declared as {}", fact.value_type.map(|it| it.to_string()).unwrap_or_default())
            }
            _ => return,
        };
        let is_repeated = |edit: &PlacedEdit| finding.rule == RuleId::ValueUnsorted && edit.text == text;
        if !self.texts.iter().any(is_repeated) {
            self.add(finding, text);
        }
    }
}

/// Returns the IR version that a fixed model declares. A runtime may load a model whose version is below that of the release with its
/// opsets, and not know that release's version. So a published version is only raised to what the model needs.
fn sufficient_ir(ir: &IrFacts) -> i64 {
    match ir.declared.filter(|declared| (1..=ir.newest).contains(declared)) {
        Some(declared) => ir.lowest.max(declared),
        None => ir.lowest.max(ir.release.as_ref().map_or(0, |release| release.ir)).min(ir.newest),
    }
}

/// Returns the edit of the IR version that [`fix`] leaves to the user, with the reason and the command that makes it.
pub fn left_to_the_user(report: &Report) -> Option<String> {
    report.findings.iter().find(|finding| finding.rule == RuleId::IrOpset)?;
    let ir = &report.facts.as_ref()?.ir;
    let (declared, release) = (ir.declared?, ir.release.as_ref()?.ir);
    Some(format!(
        "not applied: ir_version {declared} could become {release}, but a runtime that loads the model now may not load it then; \
         convert --ir {release} does it"
    ))
}

/// Finds the graph of a place, unless it is in a function.
fn find_graph<'m>(model: &'m ModelProto, place: &Place) -> Option<(GraphPath, &'m GraphProto)> {
    let mut path = GraphPath::new();
    let (first, steps) = place.path.split_first()?;
    if !matches!(first, PathStep::Graph(_)) {
        return None;
    }
    let mut graph = model.graph.as_ref()?;
    for step in steps {
        let PathStep::Subgraph { node, attribute } = step else { return None };
        let attributes = &graph.node.get(node.index)?.attribute;
        let position = attributes.iter().position(|found: &AttributeProto| found.name() == attribute)?;
        path.push((node.index, position));
        graph = attributes.get(position)?.g.as_deref()?;
    }
    Some((path, graph))
}

fn graph_at<'m>(model: &'m ModelProto, path: &GraphPath) -> Option<&'m GraphProto> {
    let mut graph = model.graph.as_ref()?;
    for (node, attribute) in path {
        graph = graph.node.get(*node)?.attribute.get(*attribute)?.g.as_deref()?;
    }
    Some(graph)
}

/// Returns a name for a node that no node of its graph has.
fn unused_name(graph: &GraphProto, node: usize, renamed: &BTreeMap<usize, String>) -> String {
    let stem = graph.node.get(node).map_or("", NodeProto::name);
    let taken: HashSet<&str> =
        graph.node.iter().map(NodeProto::name).chain(renamed.values().map(String::as_str)).collect();
    let mut names = (1..=taken.len() + 1).map(|number| format!("{stem}_{number}"));
    names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// Sorts nodes of a graph topologically. The first possible node in file order is next. The nodes must not form a cycle.
fn sorted(graph: &GraphProto, kept: &[usize]) -> Vec<usize> {
    let mut producers: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.node.iter().enumerate() {
        node.output.iter().filter(|name| !name.is_empty()).for_each(|name| {
            producers.entry(name).or_insert(index);
        });
    }
    let kept: BTreeSet<usize> = kept.iter().copied().collect();
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut open: HashMap<usize, usize> = HashMap::new();
    let mut ready = BTreeSet::new();
    for &index in &kept {
        let mut names = HashSet::new();
        graph.node.get(index).into_iter().for_each(|node| add_reads(node, &mut names));
        let needs: BTreeSet<usize> = names.iter().filter_map(|name| producers.get(name).copied()).collect();
        let needs = needs.into_iter().filter(|need| *need != index && kept.contains(need));
        let count = needs.inspect(|need| readers.entry(*need).or_default().push(index)).count();
        open.insert(index, count);
        if count == 0 {
            ready.insert(index);
        }
    }
    let mut order = Vec::new();
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for reader in readers.remove(&index).unwrap_or_default() {
            if let Some(count) = open.get_mut(&reader) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(reader);
                }
            }
        }
    }
    // The nodes of a cycle stay where they are.
    if order.len() == kept.len() { order } else { kept.into_iter().collect() }
}

/// Adds the names that a node reads, and those in its subgraphs.
fn add_reads<'m>(node: &'m NodeProto, names: &mut HashSet<&'m str>) {
    names.extend(node.input.iter().map(Text::as_str));
    for graph in node.attribute.iter().flat_map(AttributeProto::all_graphs) {
        names.extend(graph.output.iter().map(ValueInfoProto::name));
        graph.node.iter().for_each(|node| add_reads(node, names));
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;

    use super::*;

    /// Fixes a model, and compares the edits and the fixed model.
    fn check_fixed(text: &str, edits: &[&str], expected: &str) {
        let file = parse_model(text).unwrap().encode_to_vec();
        let fixed = fix(&file, &Limits::default()).unwrap().unwrap();
        let found: Vec<String> = fixed.edits.iter().map(ToString::to_string).collect();
        assert_eq!(found, edits, "{text}");
        let model = ModelProto::decode(fixed.file.as_slice()).unwrap();
        assert_eq!(model, parse_model(expected).unwrap(), "{text}");
        let report = check(fixed.file.as_slice(), None, &Limits::default());
        assert!(report.findings.iter().all(|finding| !finding.fixable), "{:?}", report.findings);
    }

    #[test]
    fn nodes_are_sorted_and_unused_ones_are_removed() {
        check_fixed(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {
                y = Add (b, a)
                d = Neg (c)
                c = Abs (x)
                b = Neg (a)
                a = Abs (x)
            }"#,
            &[
                "graph 'g', node 0 for 'y' (Add-13): the nodes are sorted",
                "graph 'g', node 1 for 'd' (Neg-13): the unused node is removed",
                "graph 'g', node 0 for 'c' (Abs-13): the unused node is removed",
            ],
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {
                a = Abs (x)
                b = Neg (a)
                y = Add (b, a)
            }"#,
        );
    }

    #[test]
    fn names_types_imports_and_the_ir_version_are_set() {
        check_fixed(
            r#"<ir_version: 3, opset_import: ["" : 7, "ai.onnx.ml" : 1]> g (float[N] x) => (y) <float w = {1}> {
                [n] t = Add (x, w)
                [n] y = Neg (t)
            }"#,
            &[
                "model: ir_version becomes 4",
                "graph 'g', node 'n' (Neg-6): the node is renamed 'n_1'",
                "graph 'g', output 'y': the output is declared as tensor(float)",
                "model: the unused imports of ai.onnx.ml are removed",
            ],
            r#"<ir_version: 4, opset_import: ["" : 7]> g (float[N] x) => (float[N] y) <float w = {1}> {
                [n] t = Add (x, w)
                [n_1] y = Neg (t)
            }"#,
        );
    }

    #[test]
    fn constants_of_subgraphs_are_no_inputs_from_ir_version_4_on() {
        let text = |ir: i64, inputs: &str, constants: &str| {
            format!(
                r#"<ir_version: {ir}, opset_import: ["" : 8]> g (int64 m, bool b, float x) => (float y) <float w = {{1}}> {{
                    v = Add (x, w)
                    y = Loop (m, b, v) <
                        body = l (int64 i, bool d, float s{inputs}) => (bool c, float t) {constants} {{ c = Identity (d) t = Mul (s, k) }}
                    >
                }}"#
            )
        };
        check_fixed(
            &text(3, ", float k = {2}", ""),
            &["model: ir_version becomes 4, and the constants of subgraphs are no longer their inputs"],
            &text(4, "", "<float k = {2}>"),
        );
    }

    #[test]
    fn the_ir_version_is_not_raised_to_that_of_a_release() {
        let text = |ir: i64, name: &str| {
            format!(
                r#"<ir_version: {ir}, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) {{
                    [n] t = Abs (x)
                    [{name}] y = Neg (t)
                }}"#
            )
        };
        let edit = "graph 'g', node 'n' (Neg-13): the node is renamed 'n_1'";
        check_fixed(&text(10, "n"), &[edit], &text(10, "n_1"));
        let report =
            |text: &str| check(parse_model(text).unwrap().encode_to_vec().as_slice(), None, &Limits::default());
        let left = left_to_the_user(&report(&text(10, "m"))).unwrap();
        assert!(left.starts_with("not applied: ir_version 10 could become 11, but a runtime"), "{left}");
        assert_eq!(left_to_the_user(&report(&text(11, "m"))), None);
    }

    #[test]
    fn subgraphs_are_fixed_and_functions_are_not() {
        let text = |body: &str| {
            format!(
                r#"<ir_version: 8, opset_import: ["" : 13]> g (bool c, float[2] x) => (float[2] y) {{
                    y = If (c) <
                        then_branch = t () => (float[2] a) {{ {body} }},
                        else_branch = e () => (float[2] b) {{ b = Neg (x) }}
                    >
                }}"#
            )
        };
        let place = "graph 'g', node 0 for 'y' (If-13), attribute 'then_branch', node 0 for 'a' (Neg-13)";
        let edit = format!("{place}: the nodes are sorted");
        check_fixed(&text("a = Neg (s) s = Abs (x)"), &[&edit], &text("s = Abs (x) a = Neg (s)"));
        let function = r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y) { y = l.f (x) }
            <domain: "l", opset_import: ["" : 13]> f (a) => (b) { b = Neg (c) c = Abs (a) }"#;
        let file = parse_model(function).unwrap().encode_to_vec();
        assert!(fix(&file, &Limits::default()).unwrap().is_none());
    }

    #[test]
    fn missing_declarations_are_added() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, 2] x) => (float[N, 2] y) {
            s = Shape (x)
            t = Concat <axis = 0> (x, x)
            u = Neg (x)
            y = Abs (u)
        }"#;
        let model = parse_model(text).unwrap();
        let inferred = infer_facts(&model, &Limits::default());
        let (edits, count) = super::super::declare::missing_declarations(&inferred);
        let file = edits.apply(&model.encode_to_vec()).unwrap();
        let declared = ModelProto::decode(file.as_slice()).unwrap().graph.unwrap().value_info;
        let expected = "<ir_version: 8, opset_import: [\"\" : 13]>
            g (int64[2] s, float[?, 2] t, float[N, 2] u) => () { }";
        assert_eq!((count, declared), (3, parse_model(expected).unwrap().graph.unwrap().input));
    }
}
