//! Concrete cases of a case of op.yaml at one version: its alternatives and types, combined as often as needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::case::{LARGE, Random};
use crate::generate::file::alternatives::{AlternativeAxis, combinations};
use crate::generate::file::op_file::CaseSize;
use crate::generate::file::output::Alternative;
use crate::generate::file::value_file::ValueFile;
use crate::generate::plan::error::PlanError;
use crate::generate::plan::fit::CaseAtVersion;
use crate::generate::plan::node_plan::NodePlan;
use crate::generate::plan::types::{Assignment, Types, label};
use crate::generate::plan::value_plan::ValueBuilder;

/// A case with its alternatives and types chosen.
#[derive(Clone, Debug)]
pub(crate) struct ConcreteCase {
    /// The name after that of the operator version: `slice/start=-1,end=10/T=float`.
    pub(crate) name: String,
    /// The index of the alternative on each axis.
    pub(crate) choices: Vec<usize>,
    /// The types.
    pub(crate) types: Assignment,
    /// The node.
    pub(crate) node: Arc<NodePlan>,
}

/// The alternatives of a case at a version, and the nodes planned so far.
pub(crate) struct ConcreteCases<'a> {
    case_at_version: &'a CaseAtVersion<'a>,
    axes: Vec<AlternativeAxis>,
    combinations: Vec<Vec<usize>>,
    /// Nodes by the index of a combination; `None` if the types cannot hold the literal values.
    nodes: BTreeMap<(usize, Assignment), Option<Arc<NodePlan>>>,
}

impl<'a> ConcreteCases<'a> {
    /// Lists the alternatives of a case.
    pub(crate) fn new(case_at_version: &'a CaseAtVersion<'a>) -> Result<ConcreteCases<'a>, PlanError> {
        let axes = case_at_version.axes();
        let combinations = combinations(&axes, case_at_version.case.zip)?;
        Ok(ConcreteCases { case_at_version, axes, combinations, nodes: BTreeMap::new() })
    }

    /// Returns each combination of alternatives, as indices and as the name in ids.
    pub(crate) fn alternatives(&self) -> Vec<(Vec<usize>, String)> {
        self.combinations.iter().map(|choices| (choices.clone(), self.alternative(choices))).collect()
    }

    /// Returns every case at this version: each alternative with the plainest types that fit, and each row of types
    /// with the first alternative that fits and with a random one. A type that occurs only in rows that do not fit is
    /// added to a row that does.
    pub(crate) fn cases(mut self) -> Result<Vec<ConcreteCase>, PlanError> {
        let parameters = self.case_at_version.type_parameters();
        let names = self.case_at_version.type_names();
        let types = Types::new(self.case_at_version.spec, self.case_at_version.case, &parameters, &names)?;
        let rows = types.rows();
        let mut cases: Vec<ConcreteCase> = Vec::new();
        let mut seen = BTreeSet::new();
        for choice in 0..self.combinations.len() {
            for row in &rows {
                if let Some(case) = self.case(choice, row)? {
                    cases.push(case);
                    seen.insert((choice, row));
                    break;
                }
            }
        }
        let (mut fitting, mut unfit) = (Vec::new(), Vec::new());
        for row in &rows {
            let Some(first) = self.first_fit(row)? else {
                unfit.push(row);
                continue;
            };
            let drawn = match self.drawn(row) {
                Some(drawn) if self.node(drawn, row)?.is_some() => Some(drawn),
                _ => None,
            };
            // A large case runs once per row of types.
            let plain = (self.case_at_version.case.size == CaseSize::Plain || drawn.is_none()).then_some(first);
            for choice in plain.into_iter().chain(drawn) {
                if seen.insert((choice, row)) {
                    cases.extend(self.case(choice, row)?);
                }
            }
            fitting.push(row);
        }
        for (parameter, one) in unfit.into_iter().flatten().filter(|_| parameters.len() > 1) {
            if cases.iter().any(|case| case.types.get(parameter) == Some(one)) {
                continue;
            }
            for row in &fitting {
                let mut row = (*row).clone();
                row.insert(parameter.clone(), one.clone());
                if types.holds(&row)
                    && let Some(choice) = self.first_fit(&row)?
                {
                    cases.extend(self.case(choice, &row)?);
                    break;
                }
            }
        }
        Ok(cases)
    }

    /// Chooses a combination at random for the types: the one with the smallest random number. Each number depends on
    /// the names of its combination only. A new alternative, type or case thus changes only the choices that it wins.
    fn drawn(&self, types: &Assignment) -> Option<usize> {
        let draw = |choice: &usize| Random::new(&self.name(*choice, types)).next_bits();
        (0..self.combinations.len()).min_by_key(draw)
    }

    /// Returns the index of the first combination that fits the types.
    fn first_fit(&mut self, types: &Assignment) -> Result<Option<usize>, PlanError> {
        for choice in 0..self.combinations.len() {
            if self.node(choice, types)?.is_some() {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }

    fn case(&mut self, choice: usize, types: &Assignment) -> Result<Option<ConcreteCase>, PlanError> {
        let node = self.node(choice, types)?;
        let choices = self.combinations.get(choice).cloned().unwrap_or_default();
        let name = self.name(choice, types);
        Ok(node.map(|node| ConcreteCase { name, choices, types: types.clone(), node }))
    }

    fn name(&self, choice: usize, types: &Assignment) -> String {
        let alternative = self.combinations.get(choice).map_or_else(String::new, |choices| self.alternative(choices));
        match label(self.case_at_version.spec, types) {
            Some(label) => format!("{alternative}/{label}"),
            None => alternative,
        }
    }

    fn alternative(&self, choices: &[usize]) -> String {
        let alternatives: Vec<String> =
            self.axes.iter().zip(choices).map(|(axis, &pick)| format!("{}={}", axis.name, axis.labels[pick])).collect();
        let group = match self.case_at_version.case.size {
            CaseSize::Plain => "",
            CaseSize::Large => LARGE,
        };
        let name = format!("{group}{}", self.case_at_version.case.name);
        if alternatives.is_empty() { name } else { format!("{name}/{}", alternatives.join(",")) }
    }

    /// Returns the node of a combination, planned once; `None` if a type cannot hold a literal value.
    fn node(&mut self, choice: usize, types: &Assignment) -> Result<Option<Arc<NodePlan>>, PlanError> {
        let key = (choice, types.clone());
        if let Some(node) = self.nodes.get(&key) {
            return Ok(node.clone());
        }
        let choices = self.combinations.get(choice).map_or(&[][..], Vec::as_slice);
        let outputs_fit = self.outputs_fit(choices, types)?;
        let node = if outputs_fit { NodePlan::new(self.case_at_version, choices, types)?.map(Arc::new) } else { None };
        self.nodes.insert(key, node.clone());
        Ok(node)
    }

    /// Returns true if the types can hold all outputs by hand, as far as the types are known without a run.
    fn outputs_fit(&self, choices: &[usize], types: &Assignment) -> Result<bool, PlanError> {
        let CaseAtVersion { case, spec, .. } = self.case_at_version;
        let names = self.case_at_version.sizes()?;
        let type_names = self.case_at_version.type_names();
        let written = type_names.as_written(types);
        let builder = ValueBuilder { names: &names, types: &written };
        for (name, output) in &case.outputs.0 {
            let formal = self.case_at_version.output(name).filter(|_| case.nodes.is_none());
            let Some(formal) = formal.and_then(|at| spec.outputs.get(at)) else { continue };
            let Some(declared) = self.case_at_version.formal_type(formal, types) else { continue };
            let mut files: Vec<ValueFile> = output.any_of.iter().flatten().map(Alternative::value).collect();
            files.extend(output.written(&self.axes, choices)?);
            for file in files {
                if builder.plan(&file, Some(&declared), &mut std::iter::empty())?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
