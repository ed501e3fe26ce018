//! What op.yaml writes for inputs and attributes, as values of the types that a case has.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::model::text::parse_graph;
use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::spec::AttributeType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

use crate::generate::expression::Size;
use crate::generate::fill::Fill;
use crate::generate::literal::{Literal, repeated};
use crate::generate::operator::{MapFile, Setting, TypedFile, ValueFile};
use crate::generate::random::Random;
use crate::generate::types::Assignment;

/// Makes the values of one input.
pub(crate) struct ValueBuilder<'a> {
    /// What the names in sizes stand for.
    pub(crate) names: &'a BTreeMap<String, i64>,
    /// What the type parameters stand for.
    pub(crate) types: &'a Assignment,
    /// What the fills draw from; without it they stay empty.
    pub(crate) seed: Option<String>,
}

impl ValueBuilder<'_> {
    /// A value of the file's own type or else of the declared one; nothing where the type cannot hold what is written.
    pub(crate) fn value(
        &self,
        file: &ValueFile,
        declared: Option<&ValueType>,
        choices: &mut impl Iterator<Item = usize>,
    ) -> Result<Option<Value>, String> {
        let own = file.r#type.as_deref().map(|name| named_type(name, self.types)).transpose()?;
        let value_type = own.as_ref().or(declared).ok_or("no type is known for an input; give it `type`")?;
        let shape = match &file.shape {
            Some(choice) => {
                let sizes = &choice.pick(choices)?.0;
                Some(sizes.iter().map(|size| self.dimension(size)).collect::<Result<Vec<usize>, String>>()?)
            }
            None => None,
        };
        let fill = file.fill.as_ref().map(|choice| choice.pick(choices)).transpose()?;
        let literal = file.values.as_ref().map(|choice| choice.pick(choices)).transpose()?;
        let all = match (&file.all, &shape) {
            (Some(_), _) if fill.is_some() || literal.is_some() => {
                return Err("`all` stands beside a shape alone, without `fill` and `values`".to_owned());
            }
            (Some(_), None) => return Err("`all` needs a shape".to_owned()),
            (Some(one), Some(shape)) => Some(repeated(one, shape)?),
            (None, _) => None,
        };
        let source = Source { shape: shape.as_deref(), fill, literal: literal.or(all.as_ref()), file };
        self.of_type(value_type, &source, self.seed.as_deref())
    }

    fn dimension(&self, size: &Size) -> Result<usize, String> {
        let value = size.value(self.names)?;
        usize::try_from(value).map_err(|_| format!("'{size}' is {value}, which is no dimension"))
    }

    /// A value of any type: containers hold two tensors of the shape and fill, unless their items are given.
    fn of_type(
        &self,
        value_type: &ValueType,
        source: &Source<'_>,
        seed: Option<&str>,
    ) -> Result<Option<Value>, String> {
        match value_type {
            ValueType::Tensor(element) => Ok(self.tensor(*element, source, seed)?.map(Value::Tensor)),
            ValueType::SparseTensor(element) => {
                Ok(self.sparse(*element, source)?.map(|sparse| Value::Sparse(Arc::new(sparse))))
            }
            ValueType::Sequence(item_type) => {
                let mut items = Vec::new();
                if let Some(files) = &source.file.sequence {
                    for (at, file) in files.iter().enumerate() {
                        let maker = ValueBuilder {
                            names: self.names,
                            types: self.types,
                            seed: seed.map(|seed| format!("{seed}.{at}")),
                        };
                        match maker.value(file, Some(item_type), &mut std::iter::empty())? {
                            Some(item) => items.push(item),
                            None => return Ok(None),
                        }
                    }
                } else {
                    for at in 0..2 {
                        match self.of_type(item_type, source, seed.map(|seed| format!("{seed}.{at}")).as_deref())? {
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
                Some(file) => map(*key_type, item_type, file),
                None => Err("a map needs its keys and values written out under `map`".to_owned()),
            },
        }
    }

    fn tensor(&self, element: ElementType, source: &Source<'_>, seed: Option<&str>) -> Result<Option<Tensor>, String> {
        if let Some(literal) = source.literal {
            return literal.tensor(element, source.shape);
        }
        let shape = source.shape.ok_or("an input has neither a shape nor values")?;
        let fill = source.fill.cloned().unwrap_or_default();
        let (shape, seed) = seed.map_or((&[0][..], ""), |seed| (shape, seed));
        fill.tensor(element, shape, &mut Random::new(seed), |size| size.value(self.names)).map(Some)
    }

    /// A sparse tensor as it is written, or else a vector of four with two values.
    fn sparse(&self, element: ElementType, source: &Source<'_>) -> Result<Option<SparseTensor>, String> {
        if let (Some(values), Some(indices)) = (source.literal, &source.file.sparse) {
            let shape = source.shape.ok_or("a sparse tensor needs its shape")?.to_vec();
            let count = values.flat().len();
            let (Some(values), Some(indices)) =
                (values.tensor(element, Some(&[count]))?, indices.tensor(ElementType::Int64, None)?)
            else {
                return Ok(None);
            };
            return Ok(Some(SparseTensor { values, indices, shape }));
        }
        let values = Fill::default().tensor(
            element,
            &[2],
            &mut Random::new(self.seed.as_deref().unwrap_or_default()),
            |size| size.value(self.names),
        )?;
        let indices = Tensor::of_integers(ElementType::Int64, &[2], &[0, 3]).map_err(|error| error.to_string())?;
        Ok(Some(SparseTensor { values, indices, shape: vec![4] }))
    }
}

/// A map from its keys and values; nothing where a type cannot hold one of them.
fn map(key_type: ElementType, item_type: &ValueType, file: &MapFile) -> Result<Option<Value>, String> {
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

/// What a value is made from.
struct Source<'a> {
    shape: Option<&'a [usize]>,
    fill: Option<&'a Fill>,
    literal: Option<&'a Literal>,
    file: &'a ValueFile,
}

/// A setting as an input: its literal in the input's type, 1-D where it is a list.
pub(crate) fn input_setting(
    setting: &Setting,
    declared: Option<&ValueType>,
    types: &Assignment,
) -> Result<Option<Value>, String> {
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
    let all = all_of(typed)?;
    let values = typed.values.as_ref().or(all.as_ref()).ok_or("a tensor needs its values")?;
    values.tensor(named_type(name, types)?.element_type(), typed.shape.as_deref())
}

/// The elements of a setting that has one value everywhere; nothing where it is written otherwise.
fn all_of(typed: &TypedFile) -> Result<Option<Literal>, String> {
    match (&typed.all, &typed.shape) {
        (Some(_), _) if typed.values.is_some() => Err("`all` stands beside a shape alone, without `values`".to_owned()),
        (Some(_), None) => Err("`all` needs a shape".to_owned()),
        (Some(one), Some(shape)) => repeated(one, shape).map(Some),
        (None, _) => Ok(None),
    }
}

/// A setting as an attribute of a type; nothing where the type cannot hold the values.
pub(crate) fn attribute(
    kind: AttributeType,
    setting: &Setting,
    types: &Assignment,
) -> Result<Option<Attribute>, String> {
    let is_list = matches!(kind, AttributeType::Ints | AttributeType::Floats | AttributeType::Strings);
    let all = match setting {
        Setting::Typed(typed) if is_list => all_of(typed)?,
        _ => None,
    };
    let literal = match setting {
        Setting::Literal(literal) => literal,
        Setting::Moved(moved) => &moved.attribute,
        Setting::Typed(typed) => match &all {
            Some(all) => all,
            None => return typed_attribute(kind, typed, types),
        },
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
pub(crate) fn graph(name: &str, text: &str, types: &Assignment) -> Result<AttributeProto, String> {
    let graph = parse_graph(&with_types(text, types)).map_err(|error| format!("graph '{name}': {error}"))?;
    Ok(AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Graph.code()),
        g: Some(graph),
        ..AttributeProto::default()
    })
}

/// A text in which type parameters are replaced by what they stand for.
pub(crate) fn with_types(text: &str, types: &Assignment) -> String {
    // Longer names first, so that $T1 is not read as $T and a 1.
    let mut names: Vec<&String> = types.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.into_iter().fold(text.to_owned(), |text, name| {
        let value_type = &types[name];
        let item = match value_type {
            ValueType::Sequence(item) => item,
            other => other,
        };
        text.replace(&format!("${name}.item"), &spelt(item)).replace(&format!("${name}"), &spelt(value_type))
    })
}

/// A type as ONNX's text syntax spells it. Tensors are of any rank: the element type alone would declare a scalar.
fn spelt(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Tensor(element) => format!("{element}[]"),
        ValueType::SparseTensor(element) => format!("sparse_tensor({element})"),
        ValueType::Sequence(inner) => format!("seq({})", spelt(inner)),
        ValueType::Optional(inner) => format!("optional({})", spelt(inner)),
        ValueType::Map(key, value) => format!("map({key}, {})", spelt(value)),
    }
}
