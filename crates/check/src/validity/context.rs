//! Context shared by all checks of a model.

use std::collections::HashMap;
use std::hash::Hash;

use crate::finding::{Finding, Place};
use crate::findings::Findings;
use crate::infer::{Bodies, BodyId, Inferred, NodeId};
use crate::limits::Limits;
use crate::rules::RuleId;
use crate::scan::{Folder, Scan};

/// Model under check, with the findings so far.
pub(super) struct Context<'a, 'm> {
    pub(super) inferred: &'a Inferred<'m>,
    pub(super) scan: &'m Scan,
    pub(super) folder: Option<&'a dyn Folder>,
    pub(super) limits: &'a Limits,
    pub(super) findings: Findings,
}

impl<'a, 'm> Context<'a, 'm> {
    pub(super) fn bodies(&self) -> &'a Bodies<'m> {
        &self.inferred.bodies
    }

    /// Adds a finding, up to the limit of its level.
    pub(super) fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds a finding about the model itself.
    pub(super) fn model(&mut self, rule: RuleId, message: impl Into<String>, edit: Option<String>) {
        let finding = Finding { edit, ..Finding::new(rule, Place::default(), message) };
        self.push(finding);
    }

    /// Adds a finding about a graph or function, with the fix of its rule.
    pub(super) fn body(&mut self, body: BodyId, rule: RuleId, message: impl Into<String>) {
        if !self.findings.drops(rule.level()) {
            let place = self.bodies().place(body);
            self.push(Finding::new(rule, place, message).with_edit(rule.edit()));
        }
    }

    /// Adds a finding about a node.
    pub(super) fn node(&mut self, node: NodeId, rule: RuleId, message: impl Into<String>, edit: Option<String>) {
        if !self.findings.drops(rule.level()) {
            let place = self.bodies().place_of(node);
            let finding = Finding { edit, ..Finding::new(rule, place, message) };
            self.push(finding);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.limits.deadline.is_over()
    }
}

/// Groups of nodes that break a rule in the same way: the first one, and their number.
pub(super) struct Groups<K>(HashMap<K, (NodeId, usize)>);

impl<K: Eq + Hash> Groups<K> {
    pub(super) fn new() -> Groups<K> {
        Groups(HashMap::new())
    }

    pub(super) fn add(&mut self, key: K, node: NodeId) {
        self.0.entry(key).or_insert((node, 0)).1 += 1;
    }

    /// The groups in the order of their first nodes.
    pub(super) fn into_sorted(self) -> Vec<(K, NodeId, usize)> {
        let mut groups: Vec<(K, NodeId, usize)> =
            self.0.into_iter().map(|(key, (node, count))| (key, node, count)).collect();
        groups.sort_by_key(|(_, node, _)| *node);
        groups
    }
}

/// Formats the number of other nodes that a finding covers.
pub(super) fn more(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => "; the same holds for 1 more node".to_owned(),
        count => format!("; the same holds for {} more nodes", count - 1),
    }
}
