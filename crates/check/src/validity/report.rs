//! The check of a whole model.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::finding::Finding;
use crate::infer::infer;
use crate::rules::Level;
use crate::scan::{Folder, Limits, Scan, Source, scan};

/// What a check found.
#[derive(Debug)]
pub struct Report {
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// What the model is made of; nothing where the file holds no model.
    pub facts: Option<ModelFacts>,
    /// The model without the elements of its large tensors.
    pub scan: Option<Scan>,
}

impl Report {
    /// Whether nothing in the model breaks a rule.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Error)
    }
}

/// What a model is made of.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelFacts {
    /// The opset of each imported domain.
    pub opsets: BTreeMap<String, i64>,
    /// The nodes, with those of subgraphs and functions.
    pub nodes: usize,
    /// The nodes of each operator version or function.
    pub operators: BTreeMap<String, usize>,
}

/// Checks the model that a file holds.
pub fn check<S: Source + ?Sized>(source: &S, folder: Option<&dyn Folder>, limits: &Limits) -> Report {
    match scan(source, limits) {
        Ok(scan) => check_model(scan, folder, limits),
        Err(finding) => Report { findings: vec![*finding], facts: None, scan: None },
    }
}

/// Checks a model that has been scanned.
pub fn check_model(scan: Scan, _folder: Option<&dyn Folder>, limits: &Limits) -> Report {
    let mut findings = scan.findings.clone();
    let inferred = infer(&scan.model, limits);
    findings.extend(inferred.findings.iter().cloned());
    let mut facts = ModelFacts { opsets: inferred.bodies.imports_of_model().clone(), ..ModelFacts::default() };
    for node in inferred.nodes() {
        facts.nodes += 1;
        *facts.operators.entry(inferred.bodies.node_place(node).operator).or_default() += 1;
    }
    findings.sort_by_key(|finding| finding.level);
    Report { findings, facts: Some(facts), scan: Some(scan) }
}
