//! A case of op.yaml at one version: does it fit, which alternatives and types does it have, what is its node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::model::text::parse_graph;
use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

use crate::case::Named;
use crate::generate::choice::{Axis, Choice};
use crate::generate::expression::Size;
use crate::generate::fill::Fill;
use crate::generate::literal::Literal;
use crate::generate::model::attribute_message;
use crate::generate::operator::{CaseFile, InputFile, MapFile, OperatorFile, Setting, TypedFile, ValueFile};
use crate::generate::ordered::Ordered;
use crate::generate::random::Random;
use crate::generate::types::{Assignment, assignments, label};

/// A case with its alternatives and types chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The name behind that of the operator version: `slice/start=-1,end=10/T=float`.
    pub name: String,
    /// The number of the alternative of each axis.
    pub picks: Vec<usize>,
    /// The types.
    pub types: Assignment,
}

/// A node with its inputs: what a model is made of.
#[derive(Clone, Debug, Default)]
pub struct NodeParts {
    /// The names of the node's inputs; `""` for one left out.
    pub input_names: Vec<String>,
    /// The values of those that are given.
    pub inputs: Vec<Named>,
    /// The attributes.
    pub attributes: Vec<AttributeProto>,
    /// The names of the node's outputs; `""` for one not asked for.
    pub output_names: Vec<String>,
}

/// What a parameter is at a version.
#[derive(Clone, Copy, Debug)]
enum Parameter<'a> {
    Attribute(&'a str, AttributeType),
    Input(usize, &'a FormalParameter),
}

/// A case of a file at a version it fits.
#[derive(Clone, Copy, Debug)]
pub struct Fitted<'a> {
    file: &'a OperatorFile,
    case: &'a CaseFile,
    spec: &'a OpSpec,
}

impl<'a> Fitted<'a> {
    /// The case at the version, or nothing where it does not fit: outside its versions, or naming or missing a parameter.
    pub fn new(file: &'a OperatorFile, case: &'a CaseFile, spec: &'a OpSpec) -> Option<Fitted<'a>> {
        let since = spec.version.since;
        if case.since.is_some_and(|first| since < first) || case.until.is_some_and(|last| since > last) {
            return None;
        }
        let fitted = Fitted { file, case, spec };
        let inputs = case.inputs.keys().all(|name| fitted.input(name).is_some());
        let settings = case.set.keys().all(|name| fitted.parameter(name).is_some());
        let outputs = case.outputs.keys().chain(case.request.iter().flatten().map(String::as_str));
        let outputs = outputs.into_iter().all(|name| fitted.output(name).is_some());
        (inputs && settings && outputs && fitted.is_complete()).then_some(fitted)
    }

    /// Everything that the version requires is there.
    fn is_complete(&self) -> bool {
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
        let needed = |(at, formal): (usize, &FormalParameter)| match formal.presence {
            Presence::Single => given.contains(&at),
            Presence::Variadic { min, .. } => min == 0 || given.contains(&at),
            Presence::Optional => true,
        };
        self.spec.inputs.iter().enumerate().all(needed)
            && self.spec.attributes.iter().all(|(name, spec)| !spec.required || attributes.contains(name.as_str()))
    }

    /// The positions of the formal inputs that the case gives.
    fn given_inputs(&self) -> impl Iterator<Item = usize> {
        let set = self.case.set.keys().filter_map(|name| match self.parameter(name) {
            Some(Parameter::Input(at, _)) => Some(at),
            _ => None,
        });
        self.case.inputs.keys().filter_map(|name| self.input(name)).map(|(at, _)| at).chain(set)
    }

    /// The names under which a parameter may stand in this version: its own, then the older ones.
    fn spellings(&self, name: &str) -> impl Iterator<Item = String> {
        let older = self.file.rename.get(name).into_iter().flatten().cloned();
        std::iter::once(name.to_owned()).chain(older)
    }

    fn input(&self, name: &str) -> Option<(usize, &'a FormalParameter)> {
        self.spellings(name)
            .find_map(|name| self.spec.inputs.iter().enumerate().find(|(_, formal)| formal.name == name))
    }

    fn output(&self, name: &str) -> Option<usize> {
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

    fn axes(&self) -> Vec<Axis> {
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
    /// alternative that fits.
    pub fn instances(&self) -> Result<Vec<Instance>, String> {
        let axes = self.axes();
        let combinations = combinations(&axes, self.case.zip)?;
        let rows = assignments(self.spec, self.case, &self.type_parameters())?;
        let mut instances: Vec<Instance> = Vec::new();
        for picks in &combinations {
            for row in &rows {
                if self.fits(picks, row)? {
                    instances.push(self.instance(&axes, picks, row));
                    break;
                }
            }
        }
        for row in &rows {
            for picks in &combinations {
                if self.fits(picks, row)? {
                    let instance = self.instance(&axes, picks, row);
                    if !instances.contains(&instance) {
                        instances.push(instance);
                    }
                    break;
                }
            }
        }
        Ok(instances)
    }

    fn instance(&self, axes: &[Axis], picks: &[usize], types: &Assignment) -> Instance {
        let alternatives: Vec<String> =
            axes.iter().zip(picks).map(|(axis, &pick)| format!("{}={}", axis.name, axis.labels[pick])).collect();
        let mut name = self.case.name.clone();
        if !alternatives.is_empty() {
            name = format!("{name}/{}", alternatives.join(","));
        }
        if let Some(label) = label(self.spec, types) {
            name = format!("{name}/{label}");
        }
        Instance { name, picks: picks.to_vec(), types: types.clone() }
    }

    /// The type parameters that the case's inputs have or its bindings decide.
    fn type_parameters(&self) -> BTreeSet<String> {
        let of_inputs = self.given_inputs().filter_map(|at| match &self.spec.inputs.get(at)?.kind {
            FormalType::Parameter(name) => Some(name.clone()),
            FormalType::Literal(_) => None,
        });
        let bound = self.case.bind.keys().filter(|name| self.spec.types.contains_key(*name)).map(str::to_owned);
        of_inputs.chain(bound).collect()
    }

    /// Whether every value that is written out can be held by its type.
    fn fits(&self, picks: &[usize], types: &Assignment) -> Result<bool, String> {
        let random = Random::new("");
        Ok(self.parts(picks, types, &random.clone(), "")?.is_some() && self.expected_fits(types)?)
    }

    fn expected_fits(&self, types: &Assignment) -> Result<bool, String> {
        for (name, output) in &self.case.outputs.0 {
            let Some(formal) = self.output(name).and_then(|at| self.spec.outputs.get(at)) else { continue };
            let element = match self.formal_type(formal, types) {
                Some(ValueType::Tensor(element)) => element,
                Some(_) if !output.unspecified => return Ok(false),
                _ => continue,
            };
            let literals: Vec<&Literal> = match (&output.values, &output.any_of) {
                (Some(Choice::One(values)), _) => vec![values],
                (None, Some(values)) => values.iter().collect(),
                _ => Vec::new(),
            };
            for literal in literals {
                let count = literal.flat().len();
                if literal.tensor(element, Some(&[count]))?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The type that a formal parameter has under an assignment, as far as it is known.
    pub fn formal_type(&self, formal: &FormalParameter, types: &Assignment) -> Option<ValueType> {
        match &formal.kind {
            FormalType::Literal(value_type) => Some(value_type.clone()),
            FormalType::Parameter(name) => types.get(name).cloned().or_else(|| match self.spec.types.get(name) {
                Some(allowed) if allowed.len() == 1 => allowed.first().cloned(),
                _ => None,
            }),
        }
    }

    /// The node of an instance; nothing where a type cannot hold a value that is written out. Fills draw from the stream
    /// of `seed` and the input's name.
    pub fn parts(
        &self,
        picks: &[usize],
        types: &Assignment,
        _random: &Random,
        seed: &str,
    ) -> Result<Option<NodeParts>, String> {
        let names = self.sizes()?;
        let mut picks = picks.iter().copied();
        let mut by_position: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        for (name, input) in &self.case.inputs.0 {
            let Some((position, formal)) = self.input(name) else { continue };
            let declared = self.formal_type(formal, types);
            let mut made = Vec::new();
            let (values, _) = values_of(input);
            for (at, file) in values.iter().enumerate() {
                let maker = Maker { names: &names, types, seed: format!("{seed}#{name}.{at}") };
                match maker.value(file, declared.as_ref(), &mut picks)? {
                    Some(value) => made.push(value),
                    None => return Ok(None),
                }
            }
            by_position.insert(position, made);
        }
        let mut attributes = Vec::new();
        for (name, choice) in &self.case.set.0 {
            let setting = choice.pick(&mut picks)?;
            match self.parameter(name) {
                Some(Parameter::Attribute(name, kind)) => match (kind, setting) {
                    (AttributeType::Graph, Setting::Graph(file)) => attributes.push(graph(name, &file.graph, types)?),
                    _ => match attribute(kind, setting, types)? {
                        Some(value) => attributes.push(attribute_message(name, &value)),
                        None => return Ok(None),
                    },
                },
                Some(Parameter::Input(position, formal)) => {
                    let declared = self.formal_type(formal, types);
                    match input_setting(setting, declared.as_ref(), types)? {
                        Some(value) => drop(by_position.insert(position, vec![value])),
                        None => return Ok(None),
                    }
                }
                None => {}
            }
        }
        for (parameter, how) in &self.case.bind.0 {
            let (Some(name), Some(value_type)) = (how.strip_prefix("attribute "), types.get(parameter)) else {
                continue;
            };
            let code = Attribute::Int(i64::from(value_type.element_type().code()));
            attributes.push(attribute_message(name, &code));
        }
        let mut parts = self.assemble(by_position, attributes);
        for (name, file) in &self.case.outer.0 {
            let maker = Maker { names: &names, types, seed: format!("{seed}#{name}") };
            match maker.value(file, None, &mut std::iter::empty())? {
                Some(value) => parts.inputs.push(Named { name: name.clone(), value }),
                None => return Ok(None),
            }
        }
        Ok(Some(parts))
    }

    fn assemble(&self, by_position: BTreeMap<usize, Vec<Value>>, attributes: Vec<AttributeProto>) -> NodeParts {
        let mut parts = NodeParts { attributes, ..NodeParts::default() };
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
        let mut names: Vec<String> = self
            .spec
            .outputs
            .iter()
            .enumerate()
            .map(|(at, formal)| if asked(at, formal) { format!("{}_out", formal.name) } else { String::new() })
            .collect();
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        names
    }

    /// The sizes that `let` defines, each by those before it.
    fn sizes(&self) -> Result<BTreeMap<String, i64>, String> {
        let mut names = BTreeMap::new();
        for (name, size) in &self.case.names.0 {
            let value = size.value(&names)?;
            names.insert(name.clone(), value);
        }
        Ok(names)
    }

    /// The position of an output by name.
    pub fn output_position(&self, name: &str) -> Option<usize> {
        self.output(name)
    }
}

/// The values of an input, and whether it is a list of them.
fn values_of(input: &InputFile) -> (&[ValueFile], bool) {
    match input {
        InputFile::One(value) => (std::slice::from_ref(value), false),
        InputFile::Many(values) => (values, true),
    }
}

fn value_axes(value: &ValueFile, name: &str, axes: &mut Vec<Axis>) {
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
fn combinations(axes: &[Axis], zip: bool) -> Result<Vec<Vec<usize>>, String> {
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

/// Makes the values of one input.
struct Maker<'a> {
    names: &'a BTreeMap<String, i64>,
    types: &'a Assignment,
    seed: String,
}

impl Maker<'_> {
    fn value(
        &self,
        file: &ValueFile,
        declared: Option<&ValueType>,
        picks: &mut impl Iterator<Item = usize>,
    ) -> Result<Option<Value>, String> {
        let own = file.r#type.as_deref().map(|name| named_type(name, self.types)).transpose()?;
        let value_type = own.as_ref().or(declared).ok_or("no type is known for an input; give it `type`")?;
        let shape = match &file.shape {
            Some(choice) => {
                let sizes = &choice.pick(picks)?.0;
                Some(sizes.iter().map(|size| self.dimension(size)).collect::<Result<Vec<usize>, String>>()?)
            }
            None => None,
        };
        let fill = file.fill.as_ref().map(|choice| choice.pick(picks)).transpose()?;
        let literal = file.values.as_ref().map(|choice| choice.pick(picks)).transpose()?;
        let source = Source { shape: shape.as_deref(), fill, literal, file };
        self.of_type(value_type, &source, &self.seed)
    }

    fn dimension(&self, size: &Size) -> Result<usize, String> {
        let value = size.value(self.names)?;
        usize::try_from(value).map_err(|_| format!("'{size}' is {value}, which is no dimension"))
    }

    /// A value of any type: containers hold two tensors of the shape and fill, unless their items are given.
    fn of_type(&self, value_type: &ValueType, source: &Source<'_>, seed: &str) -> Result<Option<Value>, String> {
        match value_type {
            ValueType::Tensor(element) => Ok(self.tensor(*element, source, seed)?.map(Value::Tensor)),
            ValueType::SparseTensor(element) => {
                Ok(self.sparse(*element)?.map(|sparse| Value::Sparse(Arc::new(sparse))))
            }
            ValueType::Sequence(item_type) => {
                let mut items = Vec::new();
                if let Some(files) = &source.file.sequence {
                    for (at, file) in files.iter().enumerate() {
                        let maker = Maker { names: self.names, types: self.types, seed: format!("{seed}.{at}") };
                        match maker.value(file, Some(item_type), &mut std::iter::empty())? {
                            Some(item) => items.push(item),
                            None => return Ok(None),
                        }
                    }
                } else {
                    for at in 0..2 {
                        match self.of_type(item_type, source, &format!("{seed}.{at}"))? {
                            Some(item) => items.push(item),
                            None => return Ok(None),
                        }
                    }
                }
                Ok(Some(Value::Sequence(Sequence::new((**item_type).clone(), items))))
            }
            ValueType::Optional(item_type) => {
                let item = if source.file.none {
                    None
                } else {
                    match self.of_type(item_type, source, seed)? {
                        Some(item) => Some(Arc::new(item)),
                        None => return Ok(None),
                    }
                };
                Ok(Some(Value::Optional(Optional { item_type: (**item_type).clone(), item })))
            }
            ValueType::Map(key_type, item_type) => match &source.file.map {
                Some(map) => self.map(*key_type, item_type, map),
                None => Err("a map needs its keys and values written out under `map`".to_owned()),
            },
        }
    }

    fn tensor(&self, element: ElementType, source: &Source<'_>, seed: &str) -> Result<Option<Tensor>, String> {
        if let Some(literal) = source.literal {
            return literal.tensor(element, source.shape);
        }
        let shape = source.shape.ok_or("an input has neither a shape nor values")?;
        let fill = source.fill.cloned().unwrap_or_default();
        fill.tensor(element, shape, &mut Random::new(seed), |size| size.value(self.names)).map(Some)
    }

    /// A sparse vector of four with two values.
    fn sparse(&self, element: ElementType) -> Result<Option<SparseTensor>, String> {
        let values =
            Fill::default().tensor(element, &[2], &mut Random::new(&self.seed), |size| size.value(self.names))?;
        let indices = Tensor::of_integers(ElementType::Int64, &[2], &[0, 3]).map_err(|error| error.to_string())?;
        Ok(Some(SparseTensor { values, indices, shape: vec![4] }))
    }

    fn map(&self, key_type: ElementType, item_type: &ValueType, file: &MapFile) -> Result<Option<Value>, String> {
        let (keys, values) = (file.keys.flat(), file.values.flat());
        if keys.len() != values.len() {
            return Err(format!("a map has {} keys and {} values", keys.len(), values.len()));
        }
        let mut entries = BTreeMap::new();
        for (key, value) in keys.into_iter().zip(values) {
            let key = match key {
                Literal::Integer(key) if key_type.is_integer() => MapKey::Integer(i128::from(*key)),
                Literal::Text(key) if key_type == ElementType::String => MapKey::String(Arc::from(key.as_str())),
                _ => return Ok(None),
            };
            match value.tensor(item_type.element_type(), Some(&[]))? {
                Some(value) => entries.insert(key, Value::Tensor(value)),
                None => return Ok(None),
            };
        }
        Ok(Some(Value::Map(Map { key_type, value_type: item_type.clone(), entries: Arc::new(entries) })))
    }
}

/// What a value is made from.
struct Source<'a> {
    shape: Option<&'a [usize]>,
    fill: Option<&'a Fill>,
    literal: Option<&'a Literal>,
    file: &'a ValueFile,
}

/// A setting as an input: its literal in the input's type, 1-D where it is a list.
fn input_setting(setting: &Setting, declared: Option<&ValueType>, types: &Assignment) -> Result<Option<Value>, String> {
    let literal = match setting {
        Setting::Literal(literal) => literal,
        Setting::Moved(moved) => &moved.input,
        Setting::Typed(typed) => return typed_tensor(typed, types).map(|tensor| tensor.map(Value::Tensor)),
        Setting::Graph(_) => return Err("a graph cannot be an input".to_owned()),
    };
    let element = declared.map_or(ElementType::Int64, ValueType::element_type);
    Ok(literal.tensor(element, None)?.map(Value::Tensor))
}

/// The element type that a setting names: a type parameter, `tensor(...)`, or the name of an element type.
fn named_type(name: &str, types: &Assignment) -> Result<ValueType, String> {
    match types.get(name) {
        Some(value_type) => Ok(value_type.clone()),
        None => match name.parse::<ElementType>() {
            Ok(element) => Ok(ValueType::Tensor(element)),
            Err(_) => name.parse().map_err(|error| format!("{error}, nor a type parameter that the case binds")),
        },
    }
}

fn typed_tensor(typed: &TypedFile, types: &Assignment) -> Result<Option<Tensor>, String> {
    let name = typed.r#type.as_deref().unwrap_or("float");
    let values = typed.values.as_ref().ok_or("a tensor needs its values")?;
    values.tensor(named_type(name, types)?.element_type(), typed.shape.as_deref())
}

/// A setting as an attribute of a type; nothing where the type cannot hold the values.
fn attribute(kind: AttributeType, setting: &Setting, types: &Assignment) -> Result<Option<Attribute>, String> {
    let literal = match setting {
        Setting::Literal(literal) => literal,
        Setting::Moved(moved) => &moved.attribute,
        Setting::Typed(typed) => return typed_attribute(kind, typed, types),
        Setting::Graph(graph) => return Err(format!("a {kind} attribute is given the graph {}", graph.graph)),
    };
    let wrong = || format!("an attribute of type {kind} is given {literal:?}");
    let items = literal.flat();
    #[expect(clippy::cast_possible_truncation, reason = "attributes are single floats")]
    let floats = || items.iter().map(|item| item.number().map(|value| value as f32)).collect::<Option<Vec<f32>>>();
    Ok(Some(match kind {
        AttributeType::Int => Attribute::Int(integer(literal).ok_or_else(wrong)?),
        AttributeType::Float => Attribute::Float(*floats().ok_or_else(wrong)?.first().ok_or_else(wrong)?),
        AttributeType::String => match literal {
            Literal::Text(text) => Attribute::String(Arc::from(text.as_str())),
            _ => return Err(wrong()),
        },
        AttributeType::Ints => {
            let values: Option<Vec<i64>> = items.iter().map(|item| integer(item)).collect();
            Attribute::Ints(values.ok_or_else(wrong)?.into())
        }
        AttributeType::Floats => Attribute::Floats(floats().ok_or_else(wrong)?.into()),
        AttributeType::Strings => {
            let text = |item: &&Literal| match item {
                Literal::Text(text) => Some(Arc::from(text.as_str())),
                _ => None,
            };
            Attribute::Strings(items.iter().map(text).collect::<Option<_>>().ok_or_else(wrong)?)
        }
        _ => return Err(wrong()),
    }))
}

/// An integer, a truth value as 1 or 0, or the name of an element type as its code.
fn integer(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Integer(value) => Some(*value),
        Literal::Bool(value) => Some(i64::from(*value)),
        Literal::Text(name) => name.parse::<ElementType>().ok().map(|element| i64::from(element.code())),
        _ => None,
    }
}

fn typed_attribute(kind: AttributeType, typed: &TypedFile, types: &Assignment) -> Result<Option<Attribute>, String> {
    match kind {
        AttributeType::Tensor => Ok(typed_tensor(typed, types)?.map(|tensor| Attribute::Tensor(Value::Tensor(tensor)))),
        AttributeType::SparseTensor => {
            let plain = TypedFile { shape: None, ..typed.clone() };
            let (Some(values), Some(indices)) = (typed_tensor(&plain, types)?, &typed.sparse) else { return Ok(None) };
            let Some(indices) = indices.tensor(ElementType::Int64, None)? else { return Ok(None) };
            let shape = typed.shape.clone().unwrap_or_else(|| vec![8]);
            let count = values.len();
            let values = values.with_shape(vec![count]).map_err(|error| error.to_string())?;
            Ok(Some(Attribute::SparseTensor(Value::Sparse(Arc::new(SparseTensor { values, indices, shape })))))
        }
        AttributeType::TypeProto => {
            let name = typed.r#type.as_deref().ok_or("a type attribute needs `type`")?;
            Ok(Some(Attribute::Type(named_type(name, types)?)))
        }
        AttributeType::Int => {
            let name = typed.r#type.as_deref().ok_or("an attribute that is a type's code needs `type`")?;
            Ok(Some(Attribute::Int(i64::from(named_type(name, types)?.element_type().code()))))
        }
        other => Err(format!("an attribute of type {other} is given a tensor or a type")),
    }
}

/// A subgraph attribute from its text, in which `$T` stands for the type of the type parameter T, and `$T.item` for that
/// of its items where it is a sequence.
fn graph(name: &str, text: &str, types: &Assignment) -> Result<AttributeProto, String> {
    // Longer names first, so that $T1 is not read as $T and a 1.
    let mut names: Vec<&String> = types.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let text = names.into_iter().fold(text.to_owned(), |text, name| {
        let value_type = &types[name];
        let item = match value_type {
            ValueType::Sequence(item) => item,
            other => other,
        };
        text.replace(&format!("${name}.item"), &spelt(item)).replace(&format!("${name}"), &spelt(value_type))
    });
    let graph = parse_graph(&text).map_err(|error| format!("graph '{name}': {error}"))?;
    Ok(AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Graph.code()),
        g: Some(graph),
        ..AttributeProto::default()
    })
}

/// A type as ONNX's text syntax spells it: a tensor by its element type.
fn spelt(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Tensor(element) => element.to_string(),
        ValueType::SparseTensor(element) => format!("sparse_tensor({element})"),
        ValueType::Sequence(inner) => format!("seq({})", spelt(inner)),
        ValueType::Optional(inner) => format!("optional({})", spelt(inner)),
        ValueType::Map(key, value) => format!("map({key}, {})", spelt(value)),
    }
}

/// Replaces inputs and settings of a control case by those of a refusal.
pub fn replaced(case: &CaseFile, inputs: &Ordered<InputFile>, set: &Ordered<Choice<Setting>>) -> CaseFile {
    let mut case = case.clone();
    for (name, input) in &inputs.0 {
        case.inputs.0.retain(|(other, _)| other != name);
        case.inputs.0.push((name.clone(), input.clone()));
    }
    for (name, setting) in &set.0 {
        case.set.0.retain(|(other, _)| other != name);
        case.set.0.push((name.clone(), setting.clone()));
    }
    case
}
