//! Conversion of whole models to other opsets and another IR version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
    encode,
};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs, canonical_domain, model_domain};
use onnx_conformance_reference::types::ValueType;

use super::answer::{Fragment, Obstacle};
use super::draft::Names;
use super::node::convert_node;
use super::patch::{NodePatch, NodesPatch, Patch};
use super::write::{ConvertedFile, WriteError, write};
use crate::facts::NodeFacts;
use crate::infer::{Bodies, Inferred, NodePath, SubgraphStep, infer};
use crate::limits::Limits;
use crate::shorten::shorten;
use crate::used_domains::UsedDomains;
use crate::validity::{ir_facts, value_of_type};

/// Maximum number of characters of a name in a place.
const MAX_SHOWN: usize = 80;

/// Requested opsets and IR version of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The new opset of each domain to change; the others remain. ONNX's own domain is `ai.onnx` or `""`. A domain of ONNX that the
    /// model does not import has no effect; one that neither ONNX nor the model has is refused.
    pub opsets: BTreeMap<String, i64>,
    /// The IR version; if not given, it is raised as far as the changed opsets require.
    pub ir: Option<i64>,
    /// True if the conversion must not change any node.
    pub relabel_only: bool,
}

impl Target {
    /// An opset of ONNX's own domain.
    pub fn opset(opset: i64) -> Target {
        Target { opsets: BTreeMap::from([("ai.onnx".to_owned(), opset)]), ..Target::default() }
    }

    /// Returns the new opset of a domain.
    fn opset_of(&self, domain: &str) -> Option<i64> {
        self.opsets.iter().find(|(name, _)| canonical_domain(name) == domain).map(|(_, opset)| *opset)
    }
}

/// Converted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// The model.
    pub model: ModelProto,
    /// The edits.
    pub edits: Vec<PlacedEdit>,
    patch: Patch,
}

impl Conversion {
    /// Returns the file of the converted model. `before` is the original model, and `file` the file that it was read from. Bytes
    /// that the conversion did not change are kept, including unknown fields.
    pub fn file(&self, before: &ModelProto, file: &[u8]) -> Result<ConvertedFile, WriteError> {
        write(file, before, &self.model, &self.patch)
    }
}

/// Edit at a place, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEdit {
    /// The node with its graph, or the model.
    pub place: String,
    /// One sentence.
    pub text: String,
}

impl PlacedEdit {
    /// True if the edit concerns the model as a whole: its imports, its IR version, its inputs.
    pub fn concerns_model(&self) -> bool {
        !self.place.contains("node ")
    }
}

impl fmt::Display for PlacedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Refusal of a conversion, with every node that prevents it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The places, each with the reason.
    pub reasons: Vec<PlacedEdit>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, reason) in self.reasons.iter().enumerate() {
            write!(f, "{}{reason}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Converts a model to other opsets and another IR version. If anything cannot be converted, the model is refused as a whole.
pub fn convert(model: &ModelProto, target: &Target) -> Result<Conversion, Refusal> {
    convert_within(model, target, &Limits::default())
}

/// [`convert`] within limits. Exceeding the time is a refusal.
pub fn convert_within(model: &ModelProto, target: &Target, limits: &Limits) -> Result<Conversion, Refusal> {
    convert_inferred(&infer(model, limits), target, &limits.deadline)
}

/// [`convert_within`] for a model whose types are already inferred.
pub fn convert_inferred(inferred: &Inferred, target: &Target, deadline: &Deadline) -> Result<Conversion, Refusal> {
    let model = inferred.bodies.model;
    let mut converter = Converter::new(model, inferred, target, deadline);
    let (mut model, mut patch) = (model.clone(), Patch::default());
    converter.check_domains(&model);
    let imports = converter.retarget("model", &mut model.opset_import);
    let ir = ir_version(inferred.bodies.model, target);
    converter.constants = SubgraphConstants::new(model.ir_version(), ir);
    let mut functions = std::mem::take(&mut model.functions);
    if let Some(graph) = &mut model.graph {
        let scope = Scope { text: String::new(), imports: &imports, function: None, entered: Vec::new() };
        let (added, changed) = converter.graph(graph, &scope);
        graph.initializer.extend(added);
        patch.graph = changed;
        if ir < PLAIN_INITIALIZERS {
            converter.declare_initializers(graph);
        }
        converter.report_constants();
    }
    for (index, function) in functions.iter_mut().enumerate() {
        let changed = converter.function(index, function);
        patch.functions.insert(index, changed);
    }
    model.functions = functions;
    if !model.training_info.is_empty() && !converter.edits.is_empty() {
        converter.refuse("training_info", "training graphs are not converted; --strip training drops them");
    }
    converter.import_onnx(&mut model.opset_import);
    if ir != model.ir_version() {
        converter.edits.push(PlacedEdit {
            place: "model".to_owned(),
            text: format!("ir_version {} becomes {ir}", model.ir_version()),
        });
        model.ir_version = Some(ir);
    }
    converter.check_ir(&model, target, inferred.bodies.model.ir_version());
    if deadline.is_over() {
        let text = "the conversion ran out of time".to_owned();
        return Err(Refusal { reasons: vec![PlacedEdit { place: "model".to_owned(), text }] });
    }
    if converter.refusal.reasons.is_empty() {
        return Ok(Conversion { model, edits: converter.edits, patch });
    }
    Err(converter.refusal)
}

/// First IR version in which initializers need not be inputs, and initializers of a subgraph must not be.
pub(super) const PLAIN_INITIALIZERS: i64 = 4;

/// Change of the initializers of subgraphs. Before IR version 4, they are inputs after those that the node passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SubgraphConstants {
    Unchanged,
    /// Initializers become inputs.
    Declared,
    /// Initializers are no longer inputs.
    Undeclared,
}

impl SubgraphConstants {
    fn new(ir: i64, new_ir: i64) -> SubgraphConstants {
        match (ir < PLAIN_INITIALIZERS, new_ir < PLAIN_INITIALIZERS) {
            (_, true) => SubgraphConstants::Declared,
            (true, false) => SubgraphConstants::Undeclared,
            (false, false) => SubgraphConstants::Unchanged,
        }
    }
}

/// The imported and the requested opset of each domain, in its canonical spelling.
type Imports = BTreeMap<String, (i64, i64)>;

/// Location of nodes.
struct Scope<'a> {
    /// The location for display, before the name of the node.
    text: String,
    imports: &'a Imports,
    /// The function of the model that contains the nodes.
    function: Option<usize>,
    entered: Vec<SubgraphStep>,
}

impl Scope<'_> {
    /// The location of a node for display.
    fn locate(&self, at: usize, node: &NodeProto) -> String {
        let name = match node.name() {
            "" => String::new(),
            name => format!(" '{}'", shorten(name, MAX_SHOWN)),
        };
        format!("{}node {at}{name} ({})", self.text, shorten(node.op_type(), MAX_SHOWN))
    }
}

/// State of a conversion.
struct Converter<'a> {
    inferred: &'a Inferred<'a>,
    target: &'a Target,
    deadline: &'a Deadline,
    functions: BTreeSet<(String, String)>,
    names: Names,
    /// The opset of ai.onnx for new nodes if the model imports none.
    onnx_opset: i64,
    needs_onnx_import: bool,
    constants: SubgraphConstants,
    /// Number of initializers of subgraphs that became inputs, or are no longer inputs.
    changed_constants: usize,
    edits: Vec<PlacedEdit>,
    refusal: Refusal,
}

impl<'a> Converter<'a> {
    fn new(
        model: &ModelProto,
        inferred: &'a Inferred<'a>,
        target: &'a Target,
        deadline: &'a Deadline,
    ) -> Converter<'a> {
        let name =
            |function: &FunctionProto| (canonical_domain(function.domain()).to_owned(), function.name().to_owned());
        let releases = Specs::embedded().releases().ok();
        let newest =
            |release: &&onnx_conformance_reference::spec::Release| i64::from(release.ir) <= model.ir_version().max(8);
        let known = releases.and_then(|releases| releases.releases.iter().rev().find(newest));
        Converter {
            inferred,
            target,
            deadline,
            functions: model.functions.iter().map(name).collect(),
            names: names_in(model),
            onnx_opset: known
                .and_then(|release| release.opsets.get(DEFAULT_DOMAIN))
                .map_or(13, |opset| i64::from(*opset)),
            needs_onnx_import: false,
            constants: SubgraphConstants::Unchanged,
            changed_constants: 0,
            edits: Vec::new(),
            refusal: Refusal::default(),
        }
    }

    fn refuse(&mut self, place: &str, reason: impl Into<String>) {
        self.refusal.reasons.push(PlacedEdit { place: place.to_owned(), text: reason.into() });
    }

    /// Refuses a requested domain that neither ONNX nor the model has, such as a misspelled one.
    fn check_domains(&mut self, model: &ModelProto) {
        let target = self.target;
        let imports =
            model.opset_import.iter().chain(model.functions.iter().flat_map(|function| &function.opset_import));
        let imported = imports.map(|import| canonical_domain(import.domain()));
        let known: BTreeSet<&str> = imported.chain(Specs::embedded().domains()).collect();
        for domain in target.opsets.keys().map(|name| canonical_domain(name)).filter(|domain| !known.contains(domain)) {
            self.refuse("model", format!("neither ONNX nor the model has a domain '{}'", shorten(domain, MAX_SHOWN)));
        }
    }

    /// Changes the imports and returns the old and new opsets.
    fn retarget(&mut self, place: &str, imports: &mut [OperatorSetIdProto]) -> Imports {
        let mut changes = Imports::new();
        for import in imports {
            let (domain, before) = (canonical_domain(import.domain()).to_owned(), import.version());
            let after = self.target.opset_of(&domain).unwrap_or(before);
            if after != before {
                if let Ok(newest) = Specs::embedded().newest_opset(&domain)
                    && (after < 1 || after > i64::from(newest))
                {
                    self.refuse(place, format!("opset {after} of {domain} is unknown; 1 to {newest} are known"));
                }
                let text = format!("opset {before} of {domain} becomes {after}");
                self.edits.push(PlacedEdit { place: place.to_owned(), text });
                import.version = Some(after);
            }
            changes.insert(domain, (before, after));
        }
        changes
    }

    /// Declares every initializer as an input, too, as IR versions below 4 require.
    fn declare_initializers(&mut self, graph: &mut GraphProto) {
        let missing = undeclared_initializers(graph);
        if !missing.is_empty() {
            let inputs = if missing.len() == 1 { "an input" } else { "inputs" };
            let text = format!("{} declared as {inputs}, as IR versions below 4 require", initializers(missing.len()));
            self.edits.push(PlacedEdit { place: "model".to_owned(), text });
            graph.input.extend(missing);
        }
    }

    /// Declares the initializers of a subgraph as inputs, or removes these inputs, as the IR version requires. Returns true if the
    /// inputs changed.
    fn adapt_inputs(&mut self, graph: &mut GraphProto) -> bool {
        let before = graph.input.len();
        match self.constants {
            SubgraphConstants::Unchanged => {}
            SubgraphConstants::Declared => {
                let missing = undeclared_initializers(graph);
                graph.input.extend(missing);
            }
            SubgraphConstants::Undeclared => {
                let names: BTreeSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
                while graph.input.last().is_some_and(|input| names.contains(input.name())) {
                    graph.input.pop();
                }
            }
        }
        let changed = graph.input.len().abs_diff(before);
        self.changed_constants += changed;
        changed > 0
    }

    /// Adds the edit for the initializers of all subgraphs.
    fn report_constants(&mut self) {
        if self.changed_constants == 0 {
            return;
        }
        let (change, versions) = match self.constants {
            SubgraphConstants::Declared => ("declared as", "below 4"),
            _ => ("no longer", "from 4 on"),
        };
        let inputs = if self.changed_constants == 1 { "an input of a subgraph" } else { "inputs of subgraphs" };
        let text =
            format!("{} {change} {inputs}, as IR versions {versions} require", initializers(self.changed_constants));
        self.edits.push(PlacedEdit { place: "model".to_owned(), text });
    }

    /// Checks that a requested IR version supports everything in the model. `declared` is the original version.
    fn check_ir(&mut self, model: &ModelProto, target: &Target, declared: i64) {
        let Some(ir) = target.ir else { return };
        let facts = ir_facts(&Bodies::new(model));
        if !facts.allows(ir) {
            let value = facts.because.first().and_then(|need| value_of_type(model.graph.as_ref()?, &need.what));
            let of_value = value.map(|name| format!(", the type of '{}'", shorten(name, MAX_SHOWN)));
            let reason = if ir > facts.newest {
                format!("the newest is {}", facts.newest)
            } else {
                format!("{}{}", facts.lowest_text(), of_value.unwrap_or_default())
            };
            let hint = if facts.needs_only_training(ir) { "; --strip training drops it" } else { "" };
            self.refuse("model", format!("ir_version cannot be {ir}: {reason}{hint}"));
        }
        for need in facts.skipped_at(ir).filter(|need| need.ir <= declared) {
            let text = format!("keeps {}, which readers of IR version {ir} skip", need.what);
            self.edits.push(PlacedEdit { place: "model".to_owned(), text });
        }
    }

    /// Converts the nodes of a graph; returns tensors to add to its initializers.
    fn graph(&mut self, graph: &mut GraphProto, scope: &Scope) -> (Vec<TensorProto>, NodesPatch) {
        let nodes = std::mem::take(&mut graph.node);
        let (nodes, added, patch) = self.nodes(nodes, scope);
        graph.node = nodes;
        (added, patch)
    }

    fn nodes(&mut self, nodes: Vec<NodeProto>, scope: &Scope) -> (Vec<NodeProto>, Vec<TensorProto>, NodesPatch) {
        // bounded: by the nodes of the graph.
        let (mut done, mut added, mut patches) = (Vec::with_capacity(nodes.len()), Vec::new(), NodesPatch::new());
        for (at, node) in nodes.into_iter().enumerate() {
            if self.deadline.is_over() {
                break;
            }
            let (fragment, patch) = self.node(at, node, scope);
            if !patch.is_empty() {
                patches.insert(at, patch);
            }
            done.extend(fragment.nodes);
            added.extend(fragment.initializers);
        }
        (done, added, patches)
    }

    /// Converts a node with its subgraphs; returns its replacement and the changes.
    fn node(&mut self, at: usize, mut node: NodeProto, scope: &Scope) -> (Fragment, NodePatch) {
        let graphs = self.subgraphs(at, &mut node, scope);
        let (fragment, is_edited) = match self.without_subgraphs(at, &node, scope) {
            Some(fragment) => {
                let is_edited = fragment.nodes.get(fragment.node_position).is_none_or(|edited| *edited != node);
                (fragment, is_edited)
            }
            None => (Fragment { nodes: vec![node], ..Fragment::default() }, false),
        };
        let before = fragment.node_position;
        let after = fragment.nodes.len().saturating_sub(before + 1);
        (fragment, NodePatch { before, after, is_edited, graphs })
    }

    /// Converts the subgraphs of a node; returns their changes.
    fn subgraphs(&mut self, at: usize, node: &mut NodeProto, scope: &Scope) -> BTreeMap<(usize, usize), NodesPatch> {
        let text = format!("{} > ", scope.locate(at, node));
        let mut patches = BTreeMap::new();
        for (attribute, message) in node.attribute.iter_mut().enumerate() {
            for (number, graph) in message.all_graphs_mut().enumerate() {
                let mut entered = scope.entered.clone();
                entered.push(SubgraphStep { node: at, attribute, graph: number });
                let (added, patch) = self.graph(graph, &Scope { text: text.clone(), entered, ..*scope });
                graph.initializer.extend(added);
                let has_new_inputs = self.adapt_inputs(graph);
                if has_new_inputs || !patch.is_empty() {
                    patches.insert((attribute, number), patch);
                }
            }
        }
        patches
    }

    /// Converts a node itself; `None` if it is unchanged or refused.
    fn without_subgraphs(&mut self, at: usize, node: &NodeProto, scope: &Scope) -> Option<Fragment> {
        let domain = canonical_domain(node.domain()).to_owned();
        let &(opset, target) = scope.imports.get(&domain)?;
        let is_call = self.functions.contains(&(domain.clone(), node.op_type().to_owned()));
        if is_call || opset == target || Specs::embedded().newest_opset(&domain).is_err() {
            return None;
        }
        let here = scope.locate(at, node);
        let path = NodePath { function: scope.function, entered: scope.entered.clone(), index: at };
        let Some(known) = self.inferred.node_facts_at(&path) else {
            self.refuse(&here, "the node was not found");
            return None;
        };
        let facts = NodeFacts { node, opset, ..known };
        let onnx_opset = scope.imports.get(DEFAULT_DOMAIN).map_or(self.onnx_opset, |(_, onnx_opset)| *onnx_opset);
        match convert_node(&facts, target, onnx_opset, &mut self.names) {
            Ok(fragment) => Some(self.accept(&here, fragment, scope)),
            Err(Obstacle::Impossible(reason) | Obstacle::Unknown(reason)) => {
                self.refuse(&here, reason);
                None
            }
        }
    }

    fn accept(&mut self, here: &str, fragment: Fragment, scope: &Scope) -> Fragment {
        if self.target.relabel_only && !fragment.edits.is_empty() {
            self.refuse(here, format!("{}, but only relabelling is allowed", fragment.edits.join("; ")));
        }
        if scope.function.is_some() && !fragment.initializers.is_empty() {
            self.refuse(
                here,
                "an edit in a function needs a constant of a type that Constant does not support at this opset",
            );
        }
        self.needs_onnx_import |= fragment.nodes.len() > 1 && !scope.imports.contains_key(DEFAULT_DOMAIN);
        let placed = |text: &String| PlacedEdit { place: here.to_owned(), text: text.clone() };
        self.edits.extend(fragment.edits.iter().map(placed));
        fragment
    }

    fn function(&mut self, index: usize, function: &mut FunctionProto) -> NodesPatch {
        let name = format!("function {}", shorten(function.name(), MAX_SHOWN));
        let imports = self.retarget(&name, &mut function.opset_import);
        let text = format!("{name} > ");
        let scope = Scope { text, imports: &imports, function: Some(index), entered: Vec::new() };
        let nodes = std::mem::take(&mut function.node);
        let (nodes, _, patch) = self.nodes(nodes, &scope);
        function.node = nodes;
        self.import_onnx(&mut function.opset_import);
        patch
    }

    /// Imports ai.onnx if new nodes need it.
    fn import_onnx(&mut self, imports: &mut Vec<OperatorSetIdProto>) {
        if std::mem::take(&mut self.needs_onnx_import) {
            let domain = model_domain(DEFAULT_DOMAIN).to_owned();
            imports.push(OperatorSetIdProto { domain: Some(domain), version: Some(self.onnx_opset) });
        }
    }
}

/// The IR version after the conversion of this model.
fn ir_version(model: &ModelProto, target: &Target) -> i64 {
    // An import that no node uses requires no IR version. An unchanged import requires no newer one: exporters declare
    // an older IR version than the release with the opset has, for runtimes that do not know the newer one.
    let used = UsedDomains::of_model(model);
    let of_model = model.opset_import.iter().filter(|import| used.by_model(import.domain()));
    let of_functions = model.functions.iter().enumerate().flat_map(|(index, function)| {
        let is_used = |import: &&OperatorSetIdProto| used.by_function(index, import.domain());
        function.opset_import.iter().filter(is_used).collect::<Vec<_>>()
    });
    let imports = of_model.chain(of_functions);
    let releases = Specs::embedded().releases().ok();
    let lowest = |import: &OperatorSetIdProto| {
        let domain = canonical_domain(import.domain());
        let opset = target.opset_of(domain).filter(|opset| *opset != import.version())?;
        releases?.lowest_ir(domain, u32::try_from(opset).ok()?).map(i64::from)
    };
    let needed = imports.filter_map(lowest).max();
    target.ir.unwrap_or_else(|| needed.unwrap_or(0).max(model.ir_version()))
}

/// Returns an input for each initializer of a graph that is not an input.
fn undeclared_initializers(graph: &GraphProto) -> Vec<ValueInfoProto> {
    let inputs: BTreeSet<&str> = graph.input.iter().map(ValueInfoProto::name).collect();
    graph.initializer.iter().filter(|tensor| !inputs.contains(tensor.name())).map(input_for).collect()
}

/// Begins a sentence about a number of initializers.
fn initializers(count: usize) -> String {
    if count == 1 { "1 initializer is".to_owned() } else { format!("{count} initializers are") }
}

/// The graph input for an initializer, as IR versions below 4 require.
fn input_for(tensor: &TensorProto) -> ValueInfoProto {
    let shape: Vec<usize> = tensor.dims.iter().filter_map(|size| usize::try_from(*size).ok()).collect();
    let element = ElementType::from_code(tensor.data_type());
    ValueInfoProto {
        name: tensor.name.clone(),
        r#type: element.map(|element| encode::value_type(&ValueType::Tensor(element), Some(&shape))),
        ..ValueInfoProto::default()
    }
}

/// Returns the names of all values of a model.
pub(super) fn names_in(model: &ModelProto) -> Names {
    let mut names = Names::default();
    model.graph.iter().for_each(|graph| take_names(graph, &mut names));
    for function in &model.functions {
        function.input.iter().for_each(|name| names.take(name));
        take_node_names(&function.node, &mut names);
    }
    names
}

fn take_names(graph: &GraphProto, names: &mut Names) {
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    infos.for_each(|info| names.take(info.name()));
    graph.initializer.iter().for_each(|tensor| names.take(tensor.name()));
    take_node_names(&graph.node, names);
}

fn take_node_names(nodes: &[NodeProto], names: &mut Names) {
    for node in nodes {
        node.input.iter().chain(&node.output).for_each(|name| names.take(name));
        for graph in node.attribute.iter().flat_map(AttributeProto::all_graphs) {
            take_names(graph, names);
        }
    }
}
