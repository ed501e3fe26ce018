//! Domains whose operators or functions a model uses.

use std::collections::BTreeSet;

use onnx_conformance_reference::proto::{AttributeProto, GraphProto, ModelProto, NodeProto};
use onnx_conformance_reference::spec::canonical_domain;

/// Domains that the nodes of a model use, in their canonical spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedDomains {
    /// Domains of all nodes, of functions and of training graphs.
    model: BTreeSet<String>,
    /// Domains of the nodes of each function.
    functions: Vec<BTreeSet<String>>,
}

impl UsedDomains {
    /// Collects the domains of a model.
    pub fn of_model(model: &ModelProto) -> UsedDomains {
        let mut used = UsedDomains::default();
        let training = model.training_info.iter().flat_map(|info| info.algorithm.iter().chain(&info.initialization));
        model.graph.iter().chain(training).for_each(|graph| add_graph(graph, &mut used.model));
        for function in &model.functions {
            let mut domains = BTreeSet::new();
            add_nodes(&function.node, &mut domains);
            // Runtimes that inline a function run its nodes at the model's opset.
            used.model.extend(domains.iter().cloned());
            used.model.insert(canonical_domain(function.domain()).to_owned());
            used.functions.push(domains);
        }
        used
    }

    /// Returns true if a node uses the import of this domain by the model.
    pub fn by_model(&self, domain: &str) -> bool {
        self.model.contains(canonical_domain(domain))
    }

    /// Returns true if a node of the function at this position uses its import of this domain.
    pub fn by_function(&self, index: usize, domain: &str) -> bool {
        self.functions.get(index).is_some_and(|domains| domains.contains(canonical_domain(domain)))
    }
}

fn add_graph(graph: &GraphProto, domains: &mut BTreeSet<String>) {
    add_nodes(&graph.node, domains);
}

fn add_nodes(nodes: &[NodeProto], domains: &mut BTreeSet<String>) {
    for node in nodes {
        let domain = canonical_domain(node.domain());
        if !domains.contains(domain) {
            domains.insert(domain.to_owned());
        }
        for graph in node.attribute.iter().flat_map(AttributeProto::all_graphs) {
            add_graph(graph, domains);
        }
    }
}
