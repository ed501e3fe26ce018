//! A case of op.yaml at one version: its fit, its parameters, its alternatives and its types.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;

use crate::generate::file::alternatives::AlternativeAxis;
use crate::generate::file::expression::ExpressionError;
use crate::generate::file::op_file::{CaseFile, OperatorFile};
use crate::generate::plan::error::FitError;
use crate::generate::plan::nodes;
use crate::generate::plan::types::{Assignment, TypeNames};

/// Maximum number of values of a variadic output that a case can name.
const MAX_OUTPUTS: usize = 1024;

/// Kind of a parameter at a version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameter<'a> {
    /// An attribute, by its name and type.
    Attribute(&'a str, AttributeType),
    /// A formal input, by its position.
    Input(usize, &'a FormalParameter),
}

/// A case of a file at a version that it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaseAtVersion<'a> {
    pub(crate) file: &'a OperatorFile,
    pub(crate) case: &'a CaseFile,
    pub(crate) spec: &'a OpSpec,
}

impl<'a> CaseAtVersion<'a> {
    /// Returns the case at the version, or the reason why it does not fit: it is for other versions, names an unknown
    /// parameter, or omits a required one.
    pub(crate) fn new(
        file: &'a OperatorFile,
        case: &'a CaseFile,
        spec: &'a OpSpec,
    ) -> Result<CaseAtVersion<'a>, FitError> {
        let case_at_version = CaseAtVersion::incomplete(file, case, spec)?;
        case_at_version.check_required()?;
        Ok(case_at_version)
    }

    /// Returns the case at the version, even if it omits a required parameter.
    pub(crate) fn incomplete(
        file: &'a OperatorFile,
        case: &'a CaseFile,
        spec: &'a OpSpec,
    ) -> Result<CaseAtVersion<'a>, FitError> {
        let case_at_version = CaseAtVersion { file, case, spec };
        case_at_version.check_names()?;
        Ok(case_at_version)
    }

    /// Checks that the case is for the version, and that the version has each parameter that the case names.
    fn check_names(&self) -> Result<(), FitError> {
        let (case, version) = (self.case, &self.spec.version);
        if !case.covers(version.since) {
            return Err(FitError::OtherVersion(version.clone()));
        }
        if case.nodes.is_some() {
            return nodes::check_fit(case, self.spec);
        }
        let outputs = || case.outputs.keys().chain(case.request.iter().flatten().map(String::as_str));
        let unknown = |kind, name: &str| {
            Err(FitError::UnknownParameter { version: version.clone(), kind, name: name.to_owned() })
        };
        if let Some(name) = case.inputs.keys().find(|name| self.input(name).is_none()) {
            return unknown("input", name);
        }
        if let Some(name) = case.set.keys().find(|name| self.parameter(name).is_none()) {
            return unknown("attribute or input", name);
        }
        if let Some(name) = outputs().find(|name| self.output(name).is_none()) {
            return unknown("output", name);
        }
        Ok(())
    }

    /// Checks that the case has every parameter that the version requires.
    fn check_required(&self) -> Result<(), FitError> {
        if self.case.nodes.is_some() {
            return Ok(());
        }
        let given: BTreeSet<usize> = self.given_inputs().collect();
        let attributes: BTreeSet<&str> = self
            .case
            .set
            .keys()
            .filter_map(|name| match self.parameter(name) {
                Some(Parameter::Attribute(name, _)) => Some(name),
                _ => None,
            })
            .chain(self.case.bind.0.iter().filter_map(|(_, how)| how.strip_prefix("attribute ")))
            .collect();
        let needed = |(at, formal): &(usize, &FormalParameter)| match formal.presence {
            Presence::Single => !given.contains(at),
            Presence::Variadic { min, .. } => min > 0 && !given.contains(at),
            Presence::Optional => false,
        };
        let input = self.spec.inputs.iter().enumerate().find(needed);
        let attribute =
            self.spec.attributes.iter().find(|(name, spec)| spec.required && !attributes.contains(name.as_str()));
        let (kind, name) = match (input, attribute) {
            (Some((_, formal)), _) => ("input", &formal.name),
            (None, Some((name, _))) => ("attribute", name),
            (None, None) => return Ok(()),
        };
        Err(FitError::MissingParameter { version: self.spec.version.clone(), kind, name: name.clone() })
    }

    /// Returns the positions of the formal inputs that the case has.
    pub(crate) fn given_inputs(&self) -> impl Iterator<Item = usize> {
        let set = self.case.set.keys().filter_map(|name| match self.parameter(name) {
            Some(Parameter::Input(at, _)) => Some(at),
            _ => None,
        });
        // If there are several nodes, the inputs are the graph's.
        let inputs = self.case.inputs.keys().filter(|_| self.case.nodes.is_none());
        inputs.filter_map(|name| self.input(name)).map(|(at, _)| at).chain(set)
    }

    /// Counts the values of the case for a formal input.
    pub(crate) fn count_given(&self, at: usize) -> usize {
        let is_there = |name: &str| self.input(name).is_some_and(|(position, _)| position == at);
        let given = self.case.inputs.0.iter().filter(|(name, _)| is_there(name));
        given.map(|(_, input)| input.values().0.len()).sum()
    }

    /// Returns the possible names of a parameter in this version: its own, then the older ones.
    fn spellings(&self, name: &str) -> impl Iterator<Item = String> {
        let older = self.file.rename.get(name).into_iter().flatten().cloned();
        std::iter::once(name.to_owned()).chain(older)
    }

    pub(crate) fn input(&self, name: &str) -> Option<(usize, &'a FormalParameter)> {
        self.spellings(name)
            .find_map(|name| self.spec.inputs.iter().enumerate().find(|(_, formal)| formal.name == name))
    }

    /// Returns the position of a formal output; `outputs.1` is the second value of a variadic one.
    pub(crate) fn output(&self, name: &str) -> Option<usize> {
        let (name, number) = name.rsplit_once('.').unwrap_or((name, "0"));
        if number.parse::<usize>().is_ok_and(|number| number >= MAX_OUTPUTS) {
            return None;
        }
        self.spellings(name).find_map(|name| self.spec.outputs.iter().position(|formal| formal.name == name))
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<Parameter<'a>> {
        self.spellings(name).find_map(|name| {
            let attribute = self.spec.attributes.get_key_value(&name);
            let attribute = attribute.map(|(name, spec)| Parameter::Attribute(name, spec.kind));
            let input = self.spec.inputs.iter().enumerate().find(|(_, formal)| formal.name == name);
            attribute.or_else(|| input.map(|(at, formal)| Parameter::Input(at, formal)))
        })
    }

    /// Returns the alternatives of the case at this version.
    pub(crate) fn axes(&self) -> Vec<AlternativeAxis> {
        let mut axes = Vec::new();
        for (name, input) in &self.case.inputs.0 {
            let (values, many) = input.values();
            for (at, value) in values.iter().enumerate() {
                let name = if many { format!("{name}.{at}") } else { name.clone() };
                value.axes(&name, &mut axes);
            }
        }
        for (name, setting) in &self.case.set.0 {
            setting.axis(name, &mut axes);
        }
        axes
    }

    /// Returns the version's names of the type parameters in the case.
    pub(crate) fn type_names(&self) -> TypeNames<'a> {
        TypeNames::new(&self.file.rename_types, self.spec)
    }

    /// Returns the type parameters that the case's inputs have or its bindings decide, by the version's names.
    pub(crate) fn type_parameters(&self) -> BTreeSet<String> {
        let names = self.type_names();
        let in_version = |name: &str| names.in_version(name).map(str::to_owned);
        let of_inputs = self.given_inputs().filter_map(|at| match &self.spec.inputs.get(at)?.kind {
            FormalType::Parameter(name) => Some(name.clone()),
            FormalType::Literal(_) => None,
        });
        let named = self.case.inputs.0.iter().flat_map(|(_, input)| input.values().0);
        let named = named.filter_map(|value| value.r#type.as_deref().filter(|_| self.case.nodes.is_some()));
        let named = named.filter_map(in_version);
        let named = named.filter(|name| self.spec.types.contains_key(name));
        let bound = self.case.bind.keys().filter_map(in_version).filter(|name| self.spec.types.contains_key(name));
        of_inputs.chain(named).chain(bound).collect()
    }

    /// Returns the type of a formal parameter under an assignment, if it is known.
    pub(crate) fn formal_type(&self, formal: &FormalParameter, types: &Assignment) -> Option<ValueType> {
        match &formal.kind {
            FormalType::Literal(value_type) => Some(value_type.clone()),
            FormalType::Parameter(name) => types.get(name).cloned().or_else(|| match self.spec.types.get(name) {
                Some(allowed) if allowed.len() == 1 => allowed.first().cloned(),
                _ => None,
            }),
        }
    }

    /// Counts the values of a variadic output that the case requests: as many as it names.
    fn variadic_outputs(&self, at: usize) -> usize {
        let named = self.case.outputs.keys().chain(self.case.request.iter().flatten().map(String::as_str));
        let number = |name: &str| match name.rsplit_once('.') {
            Some((_, number)) if self.output(name) == Some(at) => number.parse::<usize>().ok(),
            _ => None,
        };
        named.filter_map(number).max().map_or(1, |last| last + 1)
    }

    /// Returns the names of the requested outputs, or by default of the required ones and the first.
    pub(crate) fn output_names(&self) -> Vec<String> {
        let asked = |at: usize, formal: &FormalParameter| match &self.case.request {
            Some(request) => request.iter().any(|name| self.output(name) == Some(at)),
            None => {
                at == 0
                    || formal.presence != Presence::Optional
                    || self.case.outputs.keys().any(|name| self.output(name) == Some(at))
            }
        };
        let mut names: Vec<String> = Vec::new();
        for (at, formal) in self.spec.outputs.iter().enumerate() {
            let count = if formal.is_variadic() { self.variadic_outputs(at) } else { 1 };
            names.extend((0..count).map(|number| match (asked(at, formal), number) {
                (false, _) => String::new(),
                (true, 0) => format!("{}_out", formal.name),
                (true, _) => format!("{}_out.{number}", formal.name),
            }));
        }
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        names
    }

    /// Evaluates the sizes under `let`, each with those before it.
    pub(crate) fn sizes(&self) -> Result<BTreeMap<String, i64>, ExpressionError> {
        let mut names = BTreeMap::new();
        for (name, size) in &self.case.names.0 {
            let value = size.value(&names)?;
            names.insert(name.clone(), value);
        }
        Ok(names)
    }

    /// Returns the name in the model of an output of the file.
    pub(crate) fn output_in_model(&self, name: &str) -> Option<String> {
        if self.case.nodes.is_some() {
            return Some(name.to_owned());
        }
        let formal = self.spec.outputs.get(self.output(name)?)?;
        Some(match name.rsplit_once('.') {
            Some((_, number)) if number != "0" => format!("{}_out.{number}", formal.name),
            _ => format!("{}_out", formal.name),
        })
    }
}
