//! The planned value of a case: literal, or of a known type and shape and still to be filled.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

use crate::generate::file::alternatives::AlternativeError;
use crate::generate::file::expression::{ExpressionError, Size};
use crate::generate::file::fill::Fill;
use crate::generate::file::literal::{Literal, LiteralError, repeated};
use crate::generate::file::value_file::{MapFile, ValueFile};
use crate::generate::plan::settings::{UnboundType, named_type};
use crate::generate::plan::types::Assignment;

/// Error of planning a value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    /// The type is unknown.
    #[error("the type of an input is unknown; add `type`")]
    NoType,
    /// A tensor has neither a shape nor elements.
    #[error("an input has neither a shape nor values")]
    NoShape,
    /// A sparse tensor with elements has no shape.
    #[error("a sparse tensor needs its shape")]
    NoSparseShape,
    /// A literal value has no elements.
    #[error("a value without a fill needs its elements under `values`")]
    NoElements,
    /// A map has no entries.
    #[error("a map needs its keys and values under `map`")]
    NoEntries,
    /// A map has another number of keys than of values.
    #[error("a map has {keys} keys and {values} values")]
    Entries {
        /// The number of keys.
        keys: usize,
        /// The number of values.
        values: usize,
    },
    /// A size is negative.
    #[error("'{size}' is {value}, which is not a dimension")]
    Dimension {
        /// The size as written.
        size: Size,
        /// Its value.
        value: i64,
    },
    /// Elements are given twice.
    #[error("`all` needs only a shape; remove `fill` and `values`")]
    AllWithElements,
    /// The number of equal elements is unknown.
    #[error("`all` needs a shape")]
    AllWithoutShape,
    /// A type is invalid.
    #[error(transparent)]
    Type(#[from] UnboundType),
    /// An expression has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// There is no alternative to choose.
    #[error(transparent)]
    Alternative(#[from] AlternativeError),
    /// A literal is not a tensor.
    #[error(transparent)]
    Literal(#[from] LiteralError),
    /// A tensor cannot be created.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// A value with known types, shapes and literal elements.
#[derive(Clone, Debug)]
pub(crate) enum ValuePlan {
    /// A literal value.
    Written(Value),
    /// A tensor that a fill makes.
    Filled(FillPlan),
    /// A sparse tensor whose elements a fill makes.
    Sparse(SparsePlan),
    /// A sequence: the type of its items, and the items.
    Sequence(ValueType, Vec<ValuePlan>),
    /// An optional that holds something: the type of its item, and the item.
    Optional(ValueType, Box<ValuePlan>),
}

/// A tensor that a fill makes.
#[derive(Clone, Debug)]
pub(crate) struct FillPlan {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
    pub(crate) fill: Fill,
    /// The value of the expression in the fill; 0 if it has none.
    pub(crate) size: i64,
}

/// A sparse tensor whose elements a fill makes.
#[derive(Clone, Debug)]
pub(crate) struct SparsePlan {
    pub(crate) values: FillPlan,
    pub(crate) indices: Tensor,
    pub(crate) shape: Vec<usize>,
}

impl ValuePlan {
    /// Returns the value, if it is fully literal.
    fn written(self) -> Option<Value> {
        match self {
            ValuePlan::Written(value) => Some(value),
            ValuePlan::Filled(_) | ValuePlan::Sparse(_) => None,
            ValuePlan::Sequence(item_type, items) => {
                let items: Option<Vec<Value>> = items.into_iter().map(ValuePlan::written).collect();
                Some(Value::Sequence(Sequence::new(item_type, items?)))
            }
            ValuePlan::Optional(item_type, item) => {
                let item = Some(Arc::new(item.written()?));
                Some(Value::Optional(Optional { item_type, item }))
            }
        }
    }

    /// Returns the shape of a tensor.
    pub(crate) fn tensor_shape(&self) -> Option<&[usize]> {
        match self {
            ValuePlan::Written(value) => value.as_tensor().map(Tensor::shape),
            ValuePlan::Filled(plan) => Some(&plan.shape),
            ValuePlan::Sparse(_) | ValuePlan::Sequence(..) | ValuePlan::Optional(..) => None,
        }
    }
}

/// Builds values from those in op.yaml.
pub(crate) struct ValueBuilder<'a> {
    /// The values of the names in sizes.
    pub(crate) names: &'a BTreeMap<String, i64>,
    /// The types of the type parameters.
    pub(crate) types: &'a Assignment,
}

impl ValueBuilder<'_> {
    /// Builds a literal value, such as an output. Returns `None` if the type cannot hold it.
    pub(crate) fn written(&self, file: &ValueFile, declared: Option<&ValueType>) -> Result<Option<Value>, ValueError> {
        let Some(plan) = self.plan(file, declared, &mut std::iter::empty())? else { return Ok(None) };
        plan.written().ok_or(ValueError::NoElements).map(Some)
    }

    /// Plans a value of the file's own type or else of the declared one. Returns `None` if the type cannot hold the
    /// literals.
    pub(crate) fn plan(
        &self,
        file: &ValueFile,
        declared: Option<&ValueType>,
        choices: &mut impl Iterator<Item = usize>,
    ) -> Result<Option<ValuePlan>, ValueError> {
        let own = file.r#type.as_deref().map(|name| named_type(name, self.types)).transpose()?;
        let value_type = own.as_ref().or(declared).ok_or(ValueError::NoType)?;
        let shape = match &file.shape {
            Some(choice) => {
                let sizes = &choice.pick(choices)?.0;
                Some(sizes.iter().map(|size| self.dimension(size)).collect::<Result<Vec<usize>, ValueError>>()?)
            }
            None => None,
        };
        let fill = file.fill.as_ref().map(|choice| choice.pick(choices)).transpose()?;
        let literal = file.values.as_ref().map(|choice| choice.pick(choices)).transpose()?;
        let all = match (&file.all, &shape) {
            (Some(_), _) if fill.is_some() || literal.is_some() => return Err(ValueError::AllWithElements),
            (Some(_), None) => return Err(ValueError::AllWithoutShape),
            (Some(one), Some(shape)) => Some(repeated(one, shape)?),
            (None, _) => None,
        };
        let literal = literal.or(all.as_ref());
        self.plan_type(value_type, &Source { shape: shape.as_deref(), fill, literal, file })
    }

    fn dimension(&self, size: &Size) -> Result<usize, ValueError> {
        let value = size.value(self.names)?;
        usize::try_from(value).map_err(|_| ValueError::Dimension { size: size.clone(), value })
    }

    /// Plans a value of any type. Sequences hold two tensors of the shape and fill, unless their items are given.
    fn plan_type(&self, value_type: &ValueType, source: &Source<'_>) -> Result<Option<ValuePlan>, ValueError> {
        match value_type {
            ValueType::Tensor(element) => self.tensor(*element, source),
            ValueType::SparseTensor(element) => sparse(*element, source),
            ValueType::Sequence(item_type) => self.sequence(item_type, source),
            ValueType::Optional(item_type) if source.file.is_absent => {
                let empty = Optional { item_type: (**item_type).clone(), item: None };
                Ok(Some(ValuePlan::Written(Value::Optional(empty))))
            }
            ValueType::Optional(item_type) => {
                let item = self.plan_type(item_type, source)?;
                Ok(item.map(|item| ValuePlan::Optional((**item_type).clone(), Box::new(item))))
            }
            ValueType::Map(key_type, item_type) => match &source.file.map {
                Some(file) => Ok(map(*key_type, item_type, file)?.map(ValuePlan::Written)),
                None => Err(ValueError::NoEntries),
            },
        }
    }

    fn sequence(&self, item_type: &ValueType, source: &Source<'_>) -> Result<Option<ValuePlan>, ValueError> {
        let items: Option<Vec<ValuePlan>> = match &source.file.sequence {
            Some(files) => {
                let item = |file| self.plan(file, Some(item_type), &mut std::iter::empty());
                files.iter().map(item).collect::<Result<_, ValueError>>()?
            }
            None => self.plan_type(item_type, source)?.map(|item| vec![item.clone(), item]),
        };
        Ok(items.map(|items| ValuePlan::Sequence(item_type.clone(), items)))
    }

    fn tensor(&self, element: ElementType, source: &Source<'_>) -> Result<Option<ValuePlan>, ValueError> {
        if let Some(literal) = source.literal {
            let tensor = literal.tensor(element, source.shape)?;
            return Ok(tensor.map(|tensor| ValuePlan::Written(Value::Tensor(tensor))));
        }
        let shape = source.shape.ok_or(ValueError::NoShape)?.to_vec();
        let fill = source.fill.cloned().unwrap_or_default();
        let size = fill.expression().map_or(Ok(0), |size| size.value(self.names))?;
        Ok(Some(ValuePlan::Filled(FillPlan { element, shape, fill, size })))
    }
}

/// Plans a sparse tensor from its literals, or else a vector of size four with two values.
fn sparse(element: ElementType, source: &Source<'_>) -> Result<Option<ValuePlan>, ValueError> {
    if let (Some(values), Some(indices)) = (source.literal, &source.file.sparse) {
        let shape = source.shape.ok_or(ValueError::NoSparseShape)?.to_vec();
        let count = values.flat().len();
        let (Some(values), Some(indices)) =
            (values.tensor(element, Some(&[count]))?, indices.tensor(ElementType::Int64, None)?)
        else {
            return Ok(None);
        };
        return Ok(Some(ValuePlan::Written(Value::Sparse(Arc::new(SparseTensor { values, indices, shape })))));
    }
    let values = FillPlan { element, shape: vec![2], fill: Fill::default(), size: 0 };
    let indices = Tensor::of_integers(ElementType::Int64, &[2], &[0, 3])?;
    Ok(Some(ValuePlan::Sparse(SparsePlan { values, indices, shape: vec![4] })))
}

/// Builds a map from its keys and values. Returns `None` if a type cannot hold one of them.
fn map(key_type: ElementType, item_type: &ValueType, file: &MapFile) -> Result<Option<Value>, ValueError> {
    let (keys, values) = (file.keys.flat(), file.values.flat());
    if keys.len() != values.len() {
        return Err(ValueError::Entries { keys: keys.len(), values: values.len() });
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

/// The parts from which a value is made.
struct Source<'a> {
    shape: Option<&'a [usize]>,
    fill: Option<&'a Fill>,
    literal: Option<&'a Literal>,
    file: &'a ValueFile,
}
