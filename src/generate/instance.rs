//! A case of op.yaml at one version: does it fit, which alternatives and types does it have, what is its node.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto};
use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::generate::choice::AlternativeAxis;
use crate::generate::model::attribute_message;
use crate::generate::nodes;
use crate::generate::operator::{CaseFile, CaseSize, InputFile, OperatorFile, Setting, ValueFile};
use crate::generate::output::Alternative;
use crate::generate::random::Random;
use crate::generate::types::{Assignment, TypeNames, Types, label};
use crate::generate::value::{ValueBuilder, attribute, graph, input_setting};

/// A case with its alternatives and types chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConcreteCase {
    /// The name behind that of the operator version: `slice/start=-1,end=10/T=float`.
    pub name: String,
    /// The number of the alternative of each axis.
    pub choices: Vec<usize>,
    /// The types.
    pub types: Assignment,
}

/// A node with its inputs: what a model is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeDraft {
    /// The names of the node's inputs; `""` for one left out.
    pub input_names: Vec<String>,
    /// The values of those that are given.
    pub inputs: Vec<Named>,
    /// The attributes.
    pub attributes: Vec<AttributeProto>,
    /// The names of the node's outputs; `""` for one not asked for.
    pub output_names: Vec<String>,
    /// The nodes of the graph, where there are several.
    pub nodes: Vec<NodeProto>,
}

/// The most values of a variadic output that a case can name.
const MOST_OUTPUTS: usize = 1024;

/// What a parameter is at a version.
#[derive(Clone, Copy, Debug)]
enum Parameter<'a> {
    Attribute(&'a str, AttributeType),
    Input(usize, &'a FormalParameter),
}

/// A case of a file at a version it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaseAtVersion<'a> {
    file: &'a OperatorFile,
    case: &'a CaseFile,
    spec: &'a OpSpec,
}

impl<'a> CaseAtVersion<'a> {
    /// The case at the version, or why it does not fit: it is for other versions, or names or lacks a parameter.
    pub(crate) fn new(
        file: &'a OperatorFile,
        case: &'a CaseFile,
        spec: &'a OpSpec,
    ) -> Result<CaseAtVersion<'a>, String> {
        let fitted = CaseAtVersion::incomplete(file, case, spec)?;
        match fitted.lacking() {
            Some(what) => Err(format!("{} requires {what}", spec.version)),
            None => Ok(fitted),
        }
    }

    /// The case at the version, though it may lack what the version requires.
    pub(crate) fn incomplete(
        file: &'a OperatorFile,
        case: &'a CaseFile,
        spec: &'a OpSpec,
    ) -> Result<CaseAtVersion<'a>, String> {
        let fitted = CaseAtVersion { file, case, spec };
        match fitted.reason_not_applicable() {
            Some(reason) => Err(reason),
            None => Ok(fitted),
        }
    }

    fn reason_not_applicable(&self) -> Option<String> {
        let (case, version) = (self.case, &self.spec.version);
        if !case.covers(version.since) {
            return Some(format!("it is not for {version}"));
        }
        if case.nodes.is_some() {
            return nodes::reason_not_applicable(case, self.spec);
        }
        let outputs = || case.outputs.keys().chain(case.request.iter().flatten().map(String::as_str));
        let unknown = |kind, name| Some(format!("{version} has no {kind} '{name}'"));
        if let Some(name) = case.inputs.keys().find(|name| self.input(name).is_none()) {
            return unknown("input", name);
        }
        if let Some(name) = case.set.keys().find(|name| self.parameter(name).is_none()) {
            return unknown("attribute or input", name);
        }
        if let Some(name) = outputs().find(|name| self.output(name).is_none()) {
            return unknown("output", name);
        }
        None
    }

    /// Something that the version requires and the case does not give.
    fn lacking(&self) -> Option<String> {
        if self.case.nodes.is_some() {
            return None;
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
        input
            .map(|(_, formal)| format!("input '{}'", formal.name))
            .or_else(|| attribute.map(|(name, _)| format!("attribute '{name}'")))
    }

    /// The positions of the formal inputs that the case gives.
    pub(crate) fn given_inputs(&self) -> impl Iterator<Item = usize> {
        let set = self.case.set.keys().filter_map(|name| match self.parameter(name) {
            Some(Parameter::Input(at, _)) => Some(at),
            _ => None,
        });
        // The inputs of several nodes are those of the graph.
        let inputs = self.case.inputs.keys().filter(|_| self.case.nodes.is_none());
        inputs.filter_map(|name| self.input(name)).map(|(at, _)| at).chain(set)
    }

    /// How many values the case gives a formal input.
    pub(crate) fn count_given(&self, at: usize) -> usize {
        let is_there = |name: &str| self.input(name).is_some_and(|(position, _)| position == at);
        let given = self.case.inputs.0.iter().filter(|(name, _)| is_there(name));
        given.map(|(_, input)| values_of(input).0.len()).sum()
    }

    /// The names under which a parameter may stand in this version: its own, then the older ones.
    fn spellings(&self, name: &str) -> impl Iterator<Item = String> {
        let older = self.file.rename.get(name).into_iter().flatten().cloned();
        std::iter::once(name.to_owned()).chain(older)
    }

    pub(crate) fn input(&self, name: &str) -> Option<(usize, &'a FormalParameter)> {
        self.spellings(name)
            .find_map(|name| self.spec.inputs.iter().enumerate().find(|(_, formal)| formal.name == name))
    }

    /// The position of a formal output; `outputs.1` is the second of a variadic one.
    fn output(&self, name: &str) -> Option<usize> {
        let (name, number) = name.rsplit_once('.').unwrap_or((name, "0"));
        if number.parse::<usize>().is_ok_and(|number| number >= MOST_OUTPUTS) {
            return None;
        }
        self.spellings(name).find_map(|name| self.spec.outputs.iter().position(|formal| formal.name == name))
    }

    fn parameter(&self, name: &str) -> Option<Parameter<'a>> {
        self.spellings(name).find_map(|name| {
            let attribute = self.spec.attributes.get_key_value(&name);
            let attribute = attribute.map(|(name, spec)| Parameter::Attribute(name, spec.kind));
            let input = self.spec.inputs.iter().enumerate().find(|(_, formal)| formal.name == name);
            attribute.or_else(|| input.map(|(at, formal)| Parameter::Input(at, formal)))
        })
    }

    /// The alternatives that the case has at this version.
    pub(crate) fn axes(&self) -> Vec<AlternativeAxis> {
        let mut axes = Vec::new();
        for (name, input) in &self.case.inputs.0 {
            let (values, many) = values_of(input);
            for (at, value) in values.iter().enumerate() {
                let name = if many { format!("{name}.{at}") } else { name.clone() };
                value_axes(value, &name, &mut axes);
            }
        }
        for (name, setting) in &self.case.set.0 {
            setting.axis(name, &mut axes);
        }
        axes
    }

    /// Every case at this version: each alternative with the plainest types that fit, each row of types with the first
    /// alternative that fits and with one that is drawn. A type that came up in rows alone that do not fit takes the place of
    /// another in one that does.
    pub(crate) fn instances(&self) -> Result<Vec<ConcreteCase>, String> {
        let axes = self.axes();
        let combinations = combinations(&axes, self.case.zip)?;
        let parameters = self.type_parameters();
        let names = self.type_names();
        let types = Types::new(self.spec, self.case, &parameters, &names)?;
        let rows = types.rows();
        let mut instances: Vec<ConcreteCase> = Vec::new();
        let mut first = BTreeSet::new();
        for choices in &combinations {
            for row in &rows {
                if self.fits(&axes, choices, row)? {
                    instances.push(self.instance(&axes, choices, row));
                    first.insert((choices, row));
                    break;
                }
            }
        }
        let (mut fitting, mut unfit) = (Vec::new(), Vec::new());
        for row in &rows {
            let Some(choices) = self.first_fit(&axes, &combinations, row)? else {
                unfit.push(row);
                continue;
            };
            let drawn = match self.drawn(&axes, &combinations, row) {
                Some(drawn) if self.fits(&axes, drawn, row)? => Some(drawn),
                _ => None,
            };
            // What is large runs with a row of types once.
            let plain = (self.case.size == CaseSize::Plain || drawn.is_none()).then_some(choices);
            for choices in plain.into_iter().chain(drawn) {
                if first.insert((choices, row)) {
                    instances.push(self.instance(&axes, choices, row));
                }
            }
            fitting.push(row);
        }
        for (parameter, one) in unfit.into_iter().flatten().filter(|_| parameters.len() > 1) {
            if instances.iter().any(|instance| instance.types.get(parameter) == Some(one)) {
                continue;
            }
            for row in &fitting {
                let mut row = (*row).clone();
                row.insert(parameter.clone(), one.clone());
                if types.holds(&row)
                    && let Some(choices) = self.first_fit(&axes, &combinations, &row)?
                {
                    instances.push(self.instance(&axes, choices, &row));
                    break;
                }
            }
        }
        Ok(instances)
    }

    /// The alternatives that come first when they are drawn for the types. Each draw is by their names alone, so that another
    /// alternative, type or case changes nothing but what it wins itself.
    fn drawn<'p>(
        &self,
        axes: &[AlternativeAxis],
        combinations: &'p [Vec<usize>],
        types: &Assignment,
    ) -> Option<&'p Vec<usize>> {
        let draw = |choices: &&Vec<usize>| Random::new(&self.instance(axes, choices, types).name).next_bits();
        combinations.iter().min_by_key(draw)
    }

    /// The first alternatives that fit the types.
    fn first_fit<'p>(
        &self,
        axes: &[AlternativeAxis],
        combinations: &'p [Vec<usize>],
        types: &Assignment,
    ) -> Result<Option<&'p Vec<usize>>, String> {
        for choices in combinations {
            if self.fits(axes, choices, types)? {
                return Ok(Some(choices));
            }
        }
        Ok(None)
    }

    /// The case with each of its alternatives, by the alternatives' numbers and under the name that ids have.
    pub(crate) fn alternatives(&self) -> Result<Vec<(Vec<usize>, String)>, String> {
        let axes = self.axes();
        let combinations = combinations(&axes, self.case.zip)?;
        Ok(combinations.into_iter().map(|choices| (choices.clone(), self.alternative(&axes, &choices))).collect())
    }

    fn alternative(&self, axes: &[AlternativeAxis], choices: &[usize]) -> String {
        let alternatives: Vec<String> =
            axes.iter().zip(choices).map(|(axis, &pick)| format!("{}={}", axis.name, axis.labels[pick])).collect();
        let group = match self.case.size {
            CaseSize::Plain => "",
            CaseSize::Large => "large/",
        };
        let name = format!("{group}{}", self.case.name);
        if alternatives.is_empty() { name } else { format!("{name}/{}", alternatives.join(",")) }
    }

    fn instance(&self, axes: &[AlternativeAxis], choices: &[usize], types: &Assignment) -> ConcreteCase {
        let mut name = self.alternative(axes, choices);
        if let Some(label) = label(self.spec, types) {
            name = format!("{name}/{label}");
        }
        ConcreteCase { name, choices: choices.to_vec(), types: types.clone() }
    }

    /// What the version calls the type parameters that the case names.
    pub(crate) fn type_names(&self) -> TypeNames<'a> {
        TypeNames::new(&self.file.rename_types, self.spec)
    }

    /// The type parameters that the case's inputs have or its bindings decide, by the names of the version.
    fn type_parameters(&self) -> BTreeSet<String> {
        let names = self.type_names();
        let of_version = |name: &str| names.of_version(name).map(str::to_owned);
        let of_inputs = self.given_inputs().filter_map(|at| match &self.spec.inputs.get(at)?.kind {
            FormalType::Parameter(name) => Some(name.clone()),
            FormalType::Literal(_) => None,
        });
        let named = self.case.inputs.0.iter().flat_map(|(_, input)| values_of(input).0);
        let named = named.filter_map(|value| value.r#type.as_deref().filter(|_| self.case.nodes.is_some()));
        let named = named.filter_map(of_version);
        let named = named.filter(|name| self.spec.types.contains_key(name));
        let bound = self.case.bind.keys().filter_map(of_version).filter(|name| self.spec.types.contains_key(name));
        of_inputs.chain(named).chain(bound).collect()
    }

    /// Whether every value that is written out can be held by its type.
    fn fits(&self, axes: &[AlternativeAxis], choices: &[usize], types: &Assignment) -> Result<bool, String> {
        Ok(self.expected_fits(axes, choices, types)? && self.parts(choices, types, None)?.is_some())
    }

    fn expected_fits(&self, axes: &[AlternativeAxis], choices: &[usize], types: &Assignment) -> Result<bool, String> {
        let names = self.sizes()?;
        let type_names = self.type_names();
        let written = type_names.as_written(types);
        for (name, output) in &self.case.outputs.0 {
            let formal = self.output(name).filter(|_| self.case.nodes.is_none());
            let Some(formal) = formal.and_then(|at| self.spec.outputs.get(at)) else { continue };
            let Some(declared) = self.formal_type(formal, types) else { continue };
            let mut files: Vec<ValueFile> = output.any_of.iter().flatten().map(Alternative::value).collect();
            files.extend(output.written(axes, choices)?);
            let maker = ValueBuilder { names: &names, types: &written, seed: None };
            for file in files {
                if maker.value(&file, Some(&declared), &mut std::iter::empty())?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The type that a formal parameter has under an assignment, as far as it is known.
    pub(crate) fn formal_type(&self, formal: &FormalParameter, types: &Assignment) -> Option<ValueType> {
        match &formal.kind {
            FormalType::Literal(value_type) => Some(value_type.clone()),
            FormalType::Parameter(name) => types.get(name).cloned().or_else(|| match self.spec.types.get(name) {
                Some(allowed) if allowed.len() == 1 => allowed.first().cloned(),
                _ => None,
            }),
        }
    }

    /// The node of an instance; nothing where a type cannot hold a value that is written out. Fills draw from the stream
    /// of `seed` and the input's name; without a seed fills stay empty and graphs unread, which is enough to see what fits.
    pub(crate) fn parts(
        &self,
        choices: &[usize],
        types: &Assignment,
        seed: Option<&str>,
    ) -> Result<Option<NodeDraft>, String> {
        let names = self.sizes()?;
        let type_names = self.type_names();
        let written: &Assignment = &type_names.as_written(types);
        let mut choices = choices.iter().copied();
        if self.case.nodes.is_some() {
            return nodes::parts(self.case, &names, &mut choices, written, seed);
        }
        let mut by_position: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        for (name, input) in &self.case.inputs.0 {
            let Some((position, formal)) = self.input(name) else { continue };
            let declared = self.formal_type(formal, types);
            let mut made = Vec::new();
            let (values, _) = values_of(input);
            for (at, file) in values.iter().enumerate() {
                let seed = seed.map(|seed| format!("{seed}#{name}.{at}"));
                let maker = ValueBuilder { names: &names, types: written, seed };
                match maker.value(file, declared.as_ref(), &mut choices)? {
                    Some(value) => made.push(value),
                    None => return Ok(None),
                }
            }
            by_position.insert(position, made);
        }
        let mut attributes = Vec::new();
        for (name, choice) in &self.case.set.0 {
            let setting = choice.pick(&mut choices)?;
            match self.parameter(name) {
                Some(Parameter::Attribute(name, kind)) => match (kind, setting) {
                    (AttributeType::Graph, Setting::Graph(_)) if seed.is_none() => {}
                    (AttributeType::Graph, Setting::Graph(file)) => attributes.push(graph(name, &file.graph, written)?),
                    _ => match attribute(kind, setting, written)? {
                        Some(value) => attributes.push(attribute_message(name, &value)),
                        None => return Ok(None),
                    },
                },
                Some(Parameter::Input(position, formal)) => {
                    let declared = self.formal_type(formal, types);
                    match input_setting(setting, declared.as_ref(), written)? {
                        Some(value) => drop(by_position.insert(position, vec![value])),
                        None => return Ok(None),
                    }
                }
                None => {}
            }
        }
        for (parameter, how) in &self.case.bind.0 {
            let (Some(name), Some(value_type)) = (how.strip_prefix("attribute "), written.get(parameter)) else {
                continue;
            };
            let code = Attribute::Int(i64::from(value_type.element_type().code()));
            attributes.push(attribute_message(name, &code));
        }
        let mut parts = self.assemble(&by_position, attributes);
        for (name, file) in &self.case.captured.0 {
            let maker = ValueBuilder { names: &names, types: written, seed: seed.map(|seed| format!("{seed}#{name}")) };
            match maker.value(file, None, &mut std::iter::empty())? {
                Some(value) => parts.inputs.push(Named { name: name.clone(), value }),
                None => return Ok(None),
            }
        }
        Ok(Some(parts))
    }

    fn assemble(&self, by_position: &BTreeMap<usize, Vec<Value>>, attributes: Vec<AttributeProto>) -> NodeDraft {
        let mut parts = NodeDraft { attributes, ..NodeDraft::default() };
        let last = by_position.keys().next_back().map_or(0, |last| last + 1);
        for (position, formal) in self.spec.inputs.iter().enumerate().take(last) {
            let values = by_position.get(&position).map_or(&[][..], Vec::as_slice);
            if values.is_empty() && !formal.is_variadic() {
                parts.input_names.push(String::new());
            }
            for (at, value) in values.iter().enumerate() {
                let name = if formal.is_variadic() { format!("{}_{at}", formal.name) } else { formal.name.clone() };
                parts.input_names.push(name.clone());
                parts.inputs.push(Named { name, value: value.clone() });
            }
        }
        parts.output_names = self.output_names();
        parts
    }

    /// How many values of a variadic output the case asks for: as many as it names.
    fn variadic_outputs(&self, at: usize) -> usize {
        let named = self.case.outputs.keys().chain(self.case.request.iter().flatten().map(String::as_str));
        let number = |name: &str| match name.rsplit_once('.') {
            Some((_, number)) if self.output(name) == Some(at) => number.parse::<usize>().ok(),
            _ => None,
        };
        named.filter_map(number).max().map_or(1, |last| last + 1)
    }

    /// The outputs asked for, or those that the version requires, and the first.
    fn output_names(&self) -> Vec<String> {
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

    /// The sizes that `let` defines, each by those before it.
    pub(crate) fn sizes(&self) -> Result<BTreeMap<String, i64>, String> {
        let mut names = BTreeMap::new();
        for (name, size) in &self.case.names.0 {
            let value = size.value(&names)?;
            names.insert(name.clone(), value);
        }
        Ok(names)
    }

    /// The name in the model of an output that the file names.
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

/// The values of an input, and whether it is a list of them.
pub(crate) fn values_of(input: &InputFile) -> (&[ValueFile], bool) {
    match input {
        InputFile::One(value) => (std::slice::from_ref(value), false),
        InputFile::Many(values) => (values, true),
    }
}

fn value_axes(value: &ValueFile, name: &str, axes: &mut Vec<AlternativeAxis>) {
    if let Some(shape) = &value.shape {
        shape.axis(name, axes);
    }
    if let Some(fill) = &value.fill {
        fill.axis(&format!("{name}.fill"), axes);
    }
    if let Some(values) = &value.values {
        values.axis(name, axes);
    }
}

/// Every combination of alternatives, or with `zip` one from each list in turn.
pub(crate) fn combinations(axes: &[AlternativeAxis], zip: bool) -> Result<Vec<Vec<usize>>, String> {
    if zip {
        let lengths: BTreeSet<usize> = axes.iter().map(|axis| axis.labels.len()).collect();
        if lengths.len() > 1 {
            return Err("zip needs lists of one length".to_owned());
        }
        let length = lengths.into_iter().next().unwrap_or(0);
        return Ok((0..length).map(|at| vec![at; axes.len()]).collect());
    }
    Ok(axes.iter().fold(vec![Vec::new()], |rows, axis| {
        let with = |row: &Vec<usize>, at: usize| [row.as_slice(), &[at]].concat();
        rows.iter().flat_map(|row| (0..axis.labels.len()).map(move |at| with(row, at))).collect()
    }))
}
