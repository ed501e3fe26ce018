//! Functions of a model, whose calls are replaced by their nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::infer::graphs_of;
use onnx_conformance_reference::model::graph::plain_domain;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, Text,
    ValueInfoProto, texts,
};
use onnx_conformance_reference::spec::Specs;

use crate::convert::draft::Names;
use crate::convert::half::names_of;
use crate::convert::model::names_in;

/// Maximum number of nodes of the model and of replaced calls.
const MAX_NODES: usize = 1 << 17;

/// Maximum number of functions around a node.
const MAX_DEPTH: usize = 64;

/// Model in which calls of functions are replaced by the nodes of the functions.
#[derive(Debug)]
pub struct Inlined {
    /// The model.
    pub model: ModelProto,
    /// Number of replaced calls.
    pub calls: usize,
    /// Calls that stay, each with the reason.
    pub kept: BTreeSet<String>,
}

/// Replaces the calls of functions. Values and nodes of a function get names that begin with the name of the call.
pub fn inline_functions(model: &ModelProto, deadline: &Deadline) -> Inlined {
    inline_functions_except(model, &BTreeSet::new(), deadline)
}

/// Replaces the calls of functions, except for those that a name in `keep` selects: `domain/function`, or the name of the calling node.
pub fn inline_functions_except(model: &ModelProto, keep: &BTreeSet<String>, deadline: &Deadline) -> Inlined {
    let mut inliner = Inliner::new(model, keep, deadline);
    let graph = model.graph.as_ref().map(|graph| inliner.graph(graph, &[]));
    let mut new = ModelProto { graph, functions: Vec::new(), ..model.clone() };
    if inliner.kept.is_empty() {
        let used = used_domains(new.graph.iter().flat_map(|graph| &graph.node));
        let is_of_function = |domain: &str| model.functions.iter().any(|it| plain_domain(it.domain()) == domain);
        new.opset_import.retain(|import| {
            let domain = plain_domain(import.domain());
            used.contains(domain) || !is_of_function(domain)
        });
    } else {
        new.functions.clone_from(&model.functions);
    }
    let Inliner { added, calls, kept, .. } = inliner;
    let import = |(domain, version)| OperatorSetIdProto { domain: Some(domain), version: Some(version) };
    new.opset_import.extend(added.into_iter().map(import));
    Inlined { model: new, calls, kept }
}

/// Returns the domains of nodes and of those in their subgraphs.
fn used_domains<'a>(nodes: impl Iterator<Item = &'a NodeProto>) -> BTreeSet<&'a str> {
    let mut used = BTreeSet::new();
    let mut open: Vec<&NodeProto> = nodes.collect();
    while let Some(node) = open.pop() {
        used.insert(plain_domain(node.domain()));
        open.extend(graphs(node).flat_map(|graph| &graph.node));
    }
    used
}

fn graphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(AttributeProto::all_graphs)
}

/// New names of values by their names in a function.
type Renamed = HashMap<String, String>;

/// Call of a function.
struct Call<'c> {
    /// Beginning of the names of its values and nodes.
    label: String,
    /// The attributes that the call sets, and the defaults of others.
    attributes: BTreeMap<&'c str, &'c AttributeProto>,
}

struct Inliner<'m> {
    model: &'m ModelProto,
    keep: &'m BTreeSet<String>,
    deadline: &'m Deadline,
    functions: HashMap<(&'m str, &'m str, &'m str), usize>,
    /// Imports of the model.
    imports: HashMap<&'m str, i64>,
    /// Imports that functions add.
    added: BTreeMap<String, i64>,
    values: Names,
    node_names: Names,
    /// Number of nodes of the new model and of replaced calls so far.
    nodes: usize,
    calls: usize,
    kept: BTreeSet<String>,
}

impl<'m> Inliner<'m> {
    fn new(model: &'m ModelProto, keep: &'m BTreeSet<String>, deadline: &'m Deadline) -> Inliner<'m> {
        let mut functions = HashMap::new();
        for (index, function) in model.functions.iter().enumerate() {
            let key = (plain_domain(function.domain()), function.name(), function.overload());
            functions.entry(key).or_insert(index);
        }
        let mut node_names = Names::default();
        let mut open: Vec<&NodeProto> = model.graph.iter().flat_map(|graph| &graph.node).collect();
        while let Some(node) = open.pop() {
            node_names.take(node.name());
            open.extend(graphs(node).flat_map(|graph| &graph.node));
        }
        let imports = model.opset_import.iter().map(|it| (plain_domain(it.domain()), it.version())).collect();
        Inliner {
            model,
            keep,
            deadline,
            functions,
            imports,
            added: BTreeMap::new(),
            values: names_in(model),
            node_names,
            nodes: 0,
            calls: 0,
            kept: BTreeSet::new(),
        }
    }

    /// Replaces the calls in a graph; `open` are the functions around it.
    fn graph(&mut self, graph: &GraphProto, open: &[usize]) -> GraphProto {
        let mut nodes = Vec::new();
        graph.node.iter().for_each(|node| self.node(node.clone(), open, &mut nodes));
        GraphProto { node: nodes, ..graph.clone() }
    }

    /// Adds a node, or the nodes of the function that it calls.
    fn node(&mut self, mut node: NodeProto, open: &[usize], nodes: &mut Vec<NodeProto>) {
        if let Some((index, function)) = self.called(&node) {
            match self.obstacle((index, function), &node, open) {
                None => {
                    let open: Vec<usize> = open.iter().copied().chain([index]).collect();
                    return self.call(function, &node, &open, nodes);
                }
                Some(reason) => {
                    self.kept.insert(format!("{}.{} {reason}", function.domain(), function.name()));
                }
            }
        }
        for graph in node.attribute.iter_mut().flat_map(AttributeProto::all_graphs_mut) {
            *graph = self.graph(graph, open);
        }
        self.nodes += 1;
        nodes.push(node);
    }

    fn called(&self, node: &NodeProto) -> Option<(usize, &'m FunctionProto)> {
        let index = *self.functions.get(&(plain_domain(node.domain()), node.op_type(), node.overload()))?;
        Some((index, self.model.functions.get(index)?))
    }

    /// Returns the reason why a call cannot be replaced.
    fn obstacle(
        &mut self,
        (index, function): (usize, &'m FunctionProto),
        call: &NodeProto,
        open: &[usize],
    ) -> Option<String> {
        if names_of(call).iter().any(|name| self.keep.contains(name)) {
            return Some("is named by --keep".to_owned());
        }
        if open.contains(&index) {
            return Some("calls itself".to_owned());
        }
        if open.len() == MAX_DEPTH {
            return Some(format!("is called in {MAX_DEPTH} functions in each other, the limit"));
        }
        if self.nodes > MAX_NODES || self.deadline.is_over() {
            return Some(format!("is called after {} nodes; the limit is {MAX_NODES}", self.nodes));
        }
        if call.attribute.iter().any(|attribute| graphs_of(attribute) > 0) {
            return Some("is called with a graph as an attribute".to_owned());
        }
        let is_absent = |name: &String| {
            let position = function.input.iter().position(|input| input == name);
            position.is_some_and(|position| call.input.get(position).is_none_or(Text::is_empty))
        };
        if let Some(output) = function.output.iter().find(|output| is_absent(output)) {
            return Some(format!("returns its input '{output}', which a call omits"));
        }
        self.other_version(function)
    }

    /// Returns the reason why the nodes of a function would be different operators with the imports of the model. Adds
    /// imports that the model lacks.
    fn other_version(&mut self, function: &'m FunctionProto) -> Option<String> {
        let imports: BTreeMap<&str, i64> =
            function.opset_import.iter().map(|it| (plain_domain(it.domain()), it.version())).collect();
        let mut open: Vec<&NodeProto> = function.node.iter().collect();
        while let Some(node) = open.pop() {
            open.extend(graphs(node).flat_map(|graph| &graph.node));
            let domain = plain_domain(node.domain());
            if self.called(node).is_some() {
                continue;
            }
            let Some(own) = imports.get(domain).copied() else {
                return Some(format!("uses the domain '{domain}', which it does not import"));
            };
            let of_model = self.imports.get(domain).or_else(|| self.added.get(domain)).copied();
            let Some(of_model) = of_model else {
                self.added.insert(domain.to_owned(), own);
                continue;
            };
            let version = |opset: i64| Specs::embedded().find(domain, node.op_type(), opset).ok().map(|it| &it.version);
            if own != of_model && (version(own).is_none() || version(own) != version(of_model)) {
                return Some(format!("has {} of opset {own}, the model of opset {of_model}", node.op_type()));
            }
        }
        None
    }

    /// Adds the nodes of a function; `open` are the functions around them, with this one.
    fn call(&mut self, function: &'m FunctionProto, node: &NodeProto, open: &[usize], nodes: &mut Vec<NodeProto>) {
        self.calls += 1;
        self.nodes += 1;
        let stem = if node.name().is_empty() { function.name() } else { node.name() };
        let defaults = function.attribute_proto.iter().chain(&node.attribute);
        let call = Call {
            label: stem.to_owned(),
            attributes: defaults.map(|attribute| (attribute.name(), attribute)).collect(),
        };
        let mut names = Renamed::new();
        for (position, input) in function.input.iter().enumerate() {
            names.insert(input.clone(), node.input.get(position).map(ToString::to_string).unwrap_or_default());
        }
        let mut copies = Vec::new();
        for (output, wanted) in function.output.iter().zip(&node.output).filter(|(_, wanted)| !wanted.is_empty()) {
            match names.get(output) {
                Some(known) => copies.push((known.clone(), wanted.clone())),
                None => drop(names.insert(output.clone(), wanted.to_string())),
            }
        }
        self.define(function.node.iter().flat_map(|node| node.output.iter().map(Text::as_str)), &call, &mut names);
        for inner in &function.node {
            let inner = self.renamed(inner, &call, &names);
            self.node(inner, open, nodes);
        }
        nodes.extend(copies.into_iter().map(|(from, to)| NodeProto {
            op_type: Some("Identity".into()),
            input: texts([from]),
            output: texts([to]),
            ..NodeProto::default()
        }));
    }

    /// Gives new names to values, except for those that have one.
    fn define<'a>(&mut self, values: impl Iterator<Item = &'a str>, call: &Call<'_>, names: &mut Renamed) {
        for value in values.filter(|value| !value.is_empty()) {
            if !names.contains_key(value) {
                names.insert(value.to_owned(), self.values.fresh(&format!("{}_{value}", call.label)));
            }
        }
    }

    /// Returns a node of a function with new names and the attributes of the call.
    fn renamed(&mut self, node: &NodeProto, call: &Call<'_>, names: &Renamed) -> NodeProto {
        let mut new = node.clone();
        for name in new.input.iter_mut().chain(&mut new.output) {
            if let Some(new) = names.get(name.as_str()) {
                *name = new.as_str().into();
            }
        }
        if !node.name().is_empty() {
            new.name = Some(self.node_names.fresh(&format!("{}/{}", call.label, node.name())).into());
        }
        new.attribute.clear();
        for attribute in &node.attribute {
            if attribute.ref_attr_name().is_empty() {
                let mut attribute = attribute.clone();
                for graph in attribute.all_graphs_mut() {
                    *graph = self.subgraph(graph, call, names);
                }
                new.attribute.push(attribute);
            } else if let Some(given) = call.attributes.get(attribute.ref_attr_name()) {
                new.attribute.push(AttributeProto { name: attribute.name.clone(), ..(*given).clone() });
            }
        }
        new
    }

    /// Returns a subgraph of a function with new names. Its own values hide those around it.
    fn subgraph(&mut self, graph: &GraphProto, call: &Call<'_>, outer: &Renamed) -> GraphProto {
        let inputs = graph.input.iter().map(ValueInfoProto::name);
        let tensors = graph.initializer.iter().map(TensorProto::name);
        let sparse = graph.sparse_initializer.iter().filter_map(|it| Some(it.values.as_ref()?.name()));
        let outputs = graph.node.iter().flat_map(|node| node.output.iter().map(Text::as_str));
        let mut own = Renamed::new();
        self.define(inputs.chain(tensors).chain(sparse).chain(outputs), call, &mut own);
        let mut names = outer.clone();
        names.extend(own);
        let mut new = graph.clone();
        let infos = new.input.iter_mut().chain(&mut new.output).chain(&mut new.value_info);
        let sparse = new.sparse_initializer.iter_mut().filter_map(|it| it.values.as_mut()).map(|it| &mut it.name);
        let fields = infos.map(|info| &mut info.name).chain(new.initializer.iter_mut().map(|it| &mut it.name));
        fields.chain(sparse).flatten().for_each(|name| rename(name, &names));
        new.node = graph.node.iter().map(|node| self.renamed(node, call, &names)).collect();
        new
    }
}

fn rename(name: &mut String, names: &Renamed) {
    if let Some(new) = names.get(name.as_str()) {
        name.clone_from(new);
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;

    use super::*;
    use crate::convert::tests::{assert_near, outputs};
    use crate::limits::Limits;
    use crate::validity::check;

    fn inlined(text: &str) -> Inlined {
        let model = parse_model(text).unwrap();
        let inlined = inline_functions(&model, &Limits::default().deadline);
        let report = check(inlined.model.encode_to_vec().as_slice(), None, &Limits::default());
        assert!(report.is_valid(), "{:?}", report.findings);
        assert_near(&outputs(&model, &[2]), &outputs(&inlined.model, &[2]));
        inlined
    }

    fn nodes(inlined: &Inlined) -> Vec<String> {
        let nodes = inlined.model.graph.iter().flat_map(|graph| &graph.node);
        nodes.map(|it| format!("{} = {}({})", it.output.join(", "), it.op_type(), it.input.join(", "))).collect()
    }

    #[test]
    fn calls_are_replaced_with_attributes_defaults_and_new_names() {
        let inlined = inlined(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y, float[2] z) {
                [first] a = l.scaled <alpha = 3.0> (x)
                y = l.twice (a)
                z = l.scaled (y)
            }
            <domain: "l", opset_import: ["" : 13]> scaled <alpha : float = 0.5> (v) => (w) {
                c = Constant <value_float : float = @alpha> ()
                w = Mul (v, c)
            }
            <domain: "l", opset_import: ["" : 13, "l" : 1]> twice (v) => (w) { t = l.scaled (v) w = Add (t, t) }"#,
        );
        let expected = [
            "first_c = Constant()",
            "a = Mul(x, first_c)",
            "scaled_c = Constant()",
            "twice_t = Mul(a, scaled_c)",
            "y = Add(twice_t, twice_t)",
            "scaled_c_2 = Constant()",
            "z = Mul(y, scaled_c_2)",
        ];
        assert_eq!(nodes(&inlined), expected);
        assert_eq!((inlined.calls, inlined.kept.len(), inlined.model.functions.len()), (4, 0, 0));
        assert_eq!(inlined.model.opset_import.len(), 1);
    }

    #[test]
    fn subgraphs_of_functions_read_their_own_and_outer_values() {
        let inlined = inlined(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y) <bool c = {1}> {
                t = l.chosen (c, x)
                y = If (c) <
                    then_branch = one () => (float[2] a) { a = l.chosen (c, t) },
                    else_branch = two () => (float[2] b) { b = Abs (t) }
                >
            }
            <domain: "l", opset_import: ["" : 13]> chosen (c, v) => (w) {
                n = Neg (v)
                w = If (c) <
                    then_branch = one () => (a) { m = Exp (v) a = Add (m, n) },
                    else_branch = two () => (b) { b = Identity (n) }
                >
            }"#,
        );
        assert_eq!((inlined.calls, inlined.model.functions.len()), (2, 0));
    }

    #[test]
    fn inputs_that_a_function_returns_are_copied() {
        let inlined = inlined(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y, float[2] z) {
                y, z = l.f (x)
            }
            <domain: "l", opset_import: ["" : 13]> f (v, unused) => (v, w) { w = Abs (v) }"#,
        );
        assert_eq!(nodes(&inlined), ["z = Abs(x)", "y = Identity(x)"]);
    }

    #[test]
    fn calls_without_end_stay() {
        let function = |index: usize| {
            let next = index + 1;
            format!(
                r#"<domain: "l", opset_import: ["" : 13, "l" : 1]> f{index} (v) => (w) {{ t = l.f{next} (v) w = l.f{next} (t) }}"#
            )
        };
        let functions: Vec<String> = (0..200).map(function).collect();
        let text = format!(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y) {{ y = l.f0 (x) }} {}
            <domain: "l", opset_import: ["" : 13, "l" : 1]> f200 (v) => (w) {{ w = l.f200 (v) }}"#,
            functions.join("\n")
        );
        let inlined = inline_functions(&parse_model(&text).unwrap(), &Limits::default().deadline);
        assert!(inlined.calls <= MAX_NODES + 1 && inlined.kept.len() > 1, "{} {:?}", inlined.calls, inlined.kept);
        assert_eq!(inlined.model.functions.len(), 201);
    }

    #[test]
    fn a_named_call_or_function_stays() {
        let model = parse_model(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y) {
                [first] a = l.f (x)
                [second] b = l.f (a)
                y = l.h (b)
            }
            <domain: "l", opset_import: ["" : 13]> f (v) => (w) { w = Abs (v) }
            <domain: "l", opset_import: ["" : 13, "l" : 1]> h (v) => (w) { n = Neg (v) w = l.f (n) }"#,
        )
        .unwrap();
        let check = |name: &str, expected: &[&str]| {
            let keep = BTreeSet::from([name.to_owned()]);
            let inlined = inline_functions_except(&model, &keep, &Limits::default().deadline);
            assert_eq!(nodes(&inlined), expected, "{name}");
            assert_eq!(inlined.kept.into_iter().collect::<Vec<_>>(), ["l.f is named by --keep"]);
        };
        check("second", &["a = Abs(x)", "b = f(a)", "h_n = Neg(b)", "y = Abs(h_n)"]);
        check("l/f", &["a = f(x)", "b = f(a)", "h_n = Neg(b)", "y = f(h_n)"]);
    }

    #[test]
    fn operators_that_changed_between_the_opsets_keep_the_call() {
        let text = |opset: i64, node: &str| {
            format!(
                r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x) => (float[2] y) {{ y = l.f (x) }}
                <domain: "l", opset_import: ["" : {opset}]> f (v) => (w) {{ w = {node} (v) }}"#
            )
        };
        assert_eq!(inlined(&text(12, "Softplus")).calls, 1);
        let kept = inlined(&text(12, "Softmax <axis = 0>"));
        assert_eq!((kept.calls, kept.model.functions.len()), (0, 1));
        let reason = "l.f has Softmax of opset 12, the model of opset 13";
        assert_eq!(kept.kept.into_iter().collect::<Vec<_>>(), [reason]);
    }
}
