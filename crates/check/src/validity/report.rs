//! Check of a whole model.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _};
use onnx_conformance_reference::model::graph::plain_domain;
use serde::Serialize;

use crate::finding::{Finding, Place};
use crate::findings::Findings;
use crate::infer::{Bodies, Inferred, infer};
use crate::limits::Limits;
use crate::rules::{Level, RuleId};
use crate::scan::{Folder, Scan, Source, scan};
use crate::validity::context::Context;
use crate::validity::ir::{self, IrFacts};
use crate::validity::{
    attributes, branches, declarations, devices, functions, gradients, imports, metadata, names, quantization, tensors,
    training,
};

/// Results of a check.
#[derive(Debug)]
pub struct Report {
    /// The findings, worst first, then in the order of the model.
    pub findings: Vec<Finding>,
    /// Facts about the model; `None` if the file is not a model.
    pub facts: Option<ModelFacts>,
    /// The model without the elements of its large tensors.
    pub scan: Option<Scan>,
}

impl Report {
    /// True if the model breaks no rule.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Error)
    }
}

/// Facts about a model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelFacts {
    /// The IR version, and the facts that determine it.
    pub ir: IrFacts,
    /// The opset of each imported domain; ONNX's own is `""`.
    pub opsets: BTreeMap<String, i64>,
    /// Imported domains that no node uses, apart from ONNX's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// The number of nodes, including those of subgraphs and functions.
    pub nodes: usize,
    /// The number of nodes of each operator version or function.
    pub operators: BTreeMap<String, usize>,
    /// The number of functions.
    pub functions: usize,
    /// The number of initializers in all graphs.
    pub initializers: usize,
}

/// Checks the model in a file. Its weights are not read.
///
/// ```
/// use onnx_conformance_check::{Limits, check};
/// use onnx_conformance_reference::model::text::parse_model;
/// use onnx_conformance_reference::proto::Message;
///
/// let text = r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (double[2] x) => (double[2] y) { y = Mish (x) }"#;
/// let file = parse_model(text).unwrap().encode_to_vec();
/// let report = check(file.as_slice(), None, &Limits::default());
/// assert!(report.is_valid(), "{:?}", report.findings);
/// assert_eq!(report.facts.unwrap().ir.lowest, 3);
/// ```
pub fn check<S: Source + ?Sized>(source: &S, folder: Option<&dyn Folder>, limits: &Limits) -> Report {
    match scan(source, limits) {
        Ok(scan) => check_model(scan, folder, limits),
        Err(finding) => Report { findings: vec![*finding], facts: None, scan: None },
    }
}

/// Checks a scanned model.
pub fn check_model(mut scan: Scan, folder: Option<&dyn Folder>, limits: &Limits) -> Report {
    let findings = std::mem::replace(&mut scan.findings, Findings::new(limits));
    let inferred = infer(&scan.model, limits);
    let mut context = Context { inferred: &inferred, scan: &scan, folder, limits, findings };
    let facts = facts(&inferred);
    if scan.model.graph.is_none() {
        let edit = "use a file that contains a complete model".to_owned();
        context.model(RuleId::ModelNoGraph, "the model has no graph", Some(edit));
    }
    ir::check(&mut context, &facts.ir);
    imports::check(&mut context);
    functions::check(&mut context);
    names::check(&mut context);
    declarations::check(&mut context);
    branches::check(&mut context);
    gradients::check(&mut context);
    metadata::check(&mut context);
    attributes::check(&mut context);
    tensors::check(&mut context);
    quantization::check(&mut context);
    training::check(&mut context);
    devices::check(&mut context);
    let mut findings = context.findings;
    findings.absorb(inferred.findings);
    if limits.deadline.is_over() {
        let message = "the check ran out of time, so there may be more problems";
        let finding = Finding::new(RuleId::FileLimit, Place::default(), message);
        findings.push(finding.with_edit("allow more time with --timeout"));
    }
    Report { findings: findings.into_sorted(), facts: Some(facts), scan: Some(scan) }
}

fn facts(inferred: &Inferred<'_>) -> ModelFacts {
    let bodies = &inferred.bodies;
    let graphs = bodies.ids().filter_map(|id| bodies.body(id).graph());
    ModelFacts {
        ir: ir::facts(bodies),
        opsets: bodies.imports_of_model().clone(),
        unused: imports::unused(bodies).into_iter().map(str::to_owned).collect(),
        nodes: bodies.node_ids().count(),
        operators: operators(bodies),
        functions: bodies.model.functions.len(),
        initializers: graphs.map(|graph| graph.initializer.len() + graph.sparse_initializer.len()).sum(),
    }
}

/// Counts the nodes of each operator version or function.
fn operators(bodies: &Bodies<'_>) -> BTreeMap<String, usize> {
    let mut counts: HashMap<(Option<usize>, &str, &str), (usize, crate::infer::NodeId)> = HashMap::new();
    for id in bodies.node_ids() {
        let Some(node) = bodies.node(id) else { continue };
        let key = (bodies.body(id.body).function, plain_domain(node.domain()), node.op_type());
        counts.entry(key).or_insert((0, id)).0 += 1;
    }
    let mut operators = BTreeMap::new();
    for (count, id) in counts.into_values() {
        *operators.entry(bodies.node_place(id).operator).or_insert(0) += count;
    }
    operators
}
