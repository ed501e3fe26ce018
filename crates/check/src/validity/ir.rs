//! IR version: the declared one, the lowest that supports the model, and the reasons.

use std::collections::HashSet;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, decode, onnx};
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use serde::Serialize;

use crate::infer::{Bodies, BodySource};
use crate::rules::RuleId;
use crate::validity::context::Context;
use crate::validity::metadata;

/// The first IR version with operator set imports.
const OLDEST: i64 = 3;

/// Feature of models with training graphs.
const TRAINING: &str = "training information";

/// Facts that determine the IR version of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IrFacts {
    /// The declared version.
    pub declared: Option<i64>,
    /// The lowest version that supports everything in the file, except fields that older readers skip.
    pub lowest: i64,
    /// Features that older versions do not have, newest first; empty if the oldest version suffices.
    pub because: Vec<IrNeed>,
    /// Features that readers of older versions skip, newest first. The model computes the same without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<IrNeed>,
    /// The IR version of the first release of ONNX that has the opsets of all used imports; `None` if one is unknown.
    pub release: Option<IrNeed>,
    /// The newest published version.
    pub newest: i64,
}

/// Feature that needs an IR version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IrNeed {
    /// The version.
    pub ir: i64,
    /// The feature: `functions`.
    pub what: String,
}

impl IrFacts {
    /// True if the model may declare this IR version without any other change in the file.
    pub fn allows(&self, ir: i64) -> bool {
        (self.lowest..=self.newest).contains(&ir)
    }

    /// True if the file has nothing that this version does not support, except training information.
    pub fn needs_only_training(&self, ir: i64) -> bool {
        (OLDEST..=self.newest).contains(&ir)
            && self.because.iter().filter(|need| need.ir > ir).all(|need| need.what == TRAINING)
    }

    /// The features that readers of this version skip.
    pub fn skipped_at(&self, ir: i64) -> impl Iterator<Item = &IrNeed> {
        self.skipped.iter().filter(move |need| need.ir > ir)
    }

    /// The lowest possible version, with the reason: `needs IR 4 or newer: initializers that are not inputs`.
    pub fn lowest_text(&self) -> String {
        match self.because.first() {
            Some(need) => format!("needs IR {} or newer: {}", self.lowest, need.what),
            None => format!("needs IR {} or newer", self.lowest),
        }
    }
}

/// Features that need newer versions, by version.
#[derive(Default)]
struct Needs {
    required: Vec<IrNeed>,
    skipped: Vec<IrNeed>,
    features: HashSet<&'static str>,
}

impl Needs {
    /// Adds a feature that does not affect what the model computes. Decoders skip fields that they do not know.
    fn skip(&mut self, ir: i64, what: &'static str, is_used: bool) {
        if is_used && self.features.insert(what) {
            self.skipped.push(IrNeed { ir, what: what.to_owned() });
        }
    }

    fn add(&mut self, ir: i64, what: &'static str, is_used: bool) {
        if is_used && self.features.insert(what) {
            self.required.push(IrNeed { ir, what: what.to_owned() });
        }
    }

    fn element(&mut self, code: i32) {
        let Some(element) = ElementType::from_code(code) else { return };
        let ir = i64::from(element.first_ir());
        self.add(ir, element.name(), ir > OLDEST);
    }

    fn value_type(&mut self, declared: &TypeProto) {
        use onnx::type_proto::Value as V;
        match &declared.value {
            Some(V::TensorType(tensor)) => self.element(tensor.elem_type()),
            Some(V::SparseTensorType(tensor)) => {
                self.add(8, "sparse tensor types", true);
                self.element(tensor.elem_type());
            }
            Some(V::OptionalType(optional)) => {
                self.add(8, "optional types", true);
                optional.elem_type.iter().for_each(|inner| self.value_type(inner));
            }
            Some(V::SequenceType(sequence)) => sequence.elem_type.iter().for_each(|inner| self.value_type(inner)),
            Some(V::MapType(map)) => map.value_type.iter().for_each(|inner| self.value_type(inner)),
            Some(V::OpaqueType(_)) | None => {}
        }
    }

    fn tensor(&mut self, tensor: &TensorProto) {
        self.element(tensor.data_type());
    }

    fn graph(&mut self, graph: &GraphProto) {
        let inputs: HashSet<&str> = graph.input.iter().map(ValueInfoProto::name).collect();
        let is_not_input = |tensor: &TensorProto| !inputs.contains(tensor.name());
        self.add(4, "initializers that are not inputs", graph.initializer.iter().any(is_not_input));
        self.skip(5, "quantization annotations", !graph.quantization_annotation.is_empty());
        self.add(6, "sparse initializers", !graph.sparse_initializer.is_empty());
        graph.initializer.iter().for_each(|tensor| self.tensor(tensor));
        for sparse in &graph.sparse_initializer {
            sparse.values.iter().for_each(|values| self.tensor(values));
        }
        for info in graph.input.iter().chain(&graph.output).chain(&graph.value_info) {
            info.r#type.iter().for_each(|declared| self.value_type(declared));
        }
    }

    fn node(&mut self, node: &NodeProto) {
        self.add(10, "overloads of functions", !node.overload().is_empty());
        self.skip(11, "device configurations", !node.device_configurations().is_empty());
        for attribute in &node.attribute {
            attribute.all_tensors().for_each(|tensor| self.tensor(tensor));
            for sparse in attribute.all_sparse_tensors() {
                self.add(6, "sparse tensors in attributes", true);
                sparse.values.iter().for_each(|values| self.tensor(values));
            }
            attribute.all_types().for_each(|declared| self.value_type(declared));
        }
    }
}

/// Collects the facts that determine the IR version of a model.
pub(crate) fn facts(bodies: &Bodies<'_>) -> IrFacts {
    let model = bodies.model;
    let mut needs = Needs::default();
    needs.add(7, TRAINING, !model.training_info.is_empty());
    needs.add(8, "functions", !model.functions.is_empty());
    needs.skip(11, "device configurations", !model.configuration.is_empty());
    for function in &model.functions {
        needs.add(9, "default values of functions' attributes", !function.attribute_proto.is_empty());
        needs.add(10, "overloads of functions", !function.overload().is_empty());
        needs.skip(10, "value_info in functions", !function.value_info.is_empty());
    }
    metadata::visit(bodies, |_, entries| {
        needs.skip(10, "metadata_props outside of the model", !entries.is_empty());
    });
    for id in bodies.ids() {
        let body = bodies.body(id);
        match body.source {
            BodySource::Graph(graph) => needs.graph(graph),
            BodySource::Function(function) => {
                for info in &function.value_info {
                    info.r#type.iter().for_each(|declared| needs.value_type(declared));
                }
            }
        }
        body.nodes().iter().for_each(|node| needs.node(node));
    }
    let (mut because, mut skipped) = (needs.required, needs.skipped);
    because.sort_by_key(|need| std::cmp::Reverse(need.ir));
    skipped.sort_by_key(|need| std::cmp::Reverse(need.ir));
    IrFacts {
        declared: model.ir_version,
        lowest: because.first().map_or(OLDEST, |need| need.ir),
        because,
        skipped,
        release: release(bodies),
        newest: newest(),
    }
}

/// Returns the name of the first value of a graph whose declaration has this element type.
pub(crate) fn value_of_type<'m>(graph: &'m GraphProto, element: &str) -> Option<&'m str> {
    let is_named =
        |tensor: &&TensorProto| ElementType::from_code(tensor.data_type()).is_some_and(|found| found.name() == element);
    let is_declared = |info: &&ValueInfoProto| {
        let declared = info.r#type.as_ref().and_then(|declared| decode::value_type(declared).ok());
        declared.is_some_and(|declared| declared.element_type().name() == element)
    };
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info).filter(is_declared);
    let tensors = graph.initializer.iter().filter(is_named).map(TensorProto::name);
    tensors.chain(infos.map(ValueInfoProto::name)).find(|name| !name.is_empty())
}

fn newest() -> i64 {
    let releases = Specs::embedded().releases().ok();
    releases.and_then(|releases| releases.newest()).map_or(OLDEST, |release| i64::from(release.ir))
}

/// The used import that needs the newest release, as far as releases determine the IR version.
fn release(bodies: &Bodies<'_>) -> Option<IrNeed> {
    let releases = Specs::embedded().releases().ok()?;
    let (model, used) = (bodies.model, bodies.used_domains());
    let mut newest: Option<IrNeed> = None;
    for import in &model.opset_import {
        let domain = canonical_domain(import.domain());
        if releases.newest_opset(domain).is_none() || !used.by_model(domain) {
            continue;
        }
        let ir = i64::from(releases.lowest_ir(domain, u32::try_from(import.version()).ok()?)?);
        if newest.as_ref().is_none_or(|newest| newest.ir < ir) {
            newest = Some(IrNeed { ir, what: format!("opset {} of {domain}", import.version()) });
        }
    }
    newest
}

/// Checks the declared version against the content of the file.
pub(super) fn check(context: &mut Context<'_, '_>, facts: &IrFacts) {
    let newest = facts.newest;
    let Some(declared) = facts.declared else {
        let edit = Some(format!("set ir_version; the model {}", facts.lowest_text()));
        return context.model(RuleId::IrMissing, "ir_version is missing", edit);
    };
    if declared > newest {
        let message = format!("IR version {declared} is newer than {newest}, the newest known version");
        let edit = format!("set ir_version to {newest}; the model {}", facts.lowest_text());
        return context.model(RuleId::IrUnknown, message, Some(edit));
    }
    if declared < 1 {
        let message = format!("IR version {declared} is invalid; versions start at 1");
        return context.model(RuleId::IrUnknown, message, Some(format!("set ir_version to {}", facts.lowest)));
    }
    if declared < OLDEST {
        let message = format!("IR version {declared} imports no operator sets, so the meaning of nodes is undefined");
        return context.model(RuleId::IrOld, message, Some(format!("set ir_version to {}", facts.lowest)));
    }
    for need in facts.because.iter().filter(|need| need.ir > declared) {
        let rule = match need.what.as_str() {
            "functions" => RuleId::IrFunction,
            "initializers that are not inputs" => RuleId::IrInitializer,
            _ => RuleId::IrFeature,
        };
        let message =
            format!("IR version {} is required for {}, but the model declares {declared}", need.ir, need.what);
        context.model(rule, message, Some(format!("set ir_version to {}", facts.lowest)));
    }
    for need in facts.skipped_at(declared) {
        let message =
            format!("readers of IR version {declared} skip {}, which IR version {} introduced", need.what, need.ir);
        context.model(RuleId::IrSkipped, message, Some(format!("set ir_version to {}", need.ir)));
    }
    if let Some(release) = facts.release.as_ref().filter(|release| release.ir > declared) {
        let message =
            format!("{} was released with IR version {}, but the model declares {declared}", release.what, release.ir);
        context.model(
            RuleId::IrOpset,
            message,
            Some(format!("set ir_version to {} if every runtime in use knows it", release.ir)),
        );
    }
}
