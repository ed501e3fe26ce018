//! Type cells as results name them.

use std::fmt;
use std::str::FromStr;

use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_reference::types::ValueType;

/// A type cell: an operator version with a type of one of its type parameters, `ai.onnx/Sum-13 T=tensor(float)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeCell {
    /// The operator version.
    pub version: OperatorVersion,
    /// The name of the type parameter.
    pub parameter: String,
    /// The type.
    pub value_type: ValueType,
}

/// A part of the standard that a model names or a run exercises: an operator version or a type cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// The operator version.
    Version(OperatorVersion),
    /// The type cell.
    Type(TypeCell),
}

/// A text that names neither an operator version nor a type cell.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is neither an operator version nor a type cell; write ai.onnx/Sum-13 or ai.onnx/Sum-13 T=tensor(float)")]
pub struct CellError(String);

impl Cell {
    /// Returns the operator version.
    pub fn version(&self) -> &OperatorVersion {
        match self {
            Cell::Version(version) | Cell::Type(TypeCell { version, .. }) => version,
        }
    }
}

impl TypeCell {
    /// Formats the cell without its operator version: `T=tensor(float)`.
    pub fn binding(&self) -> String {
        format!("{}={}", self.parameter, self.value_type)
    }
}

impl FromStr for Cell {
    type Err = CellError;

    fn from_str(text: &str) -> Result<Cell, CellError> {
        let cell = || {
            let Some((version, binding)) = text.split_once(' ') else { return Some(Cell::Version(text.parse().ok()?)) };
            let (parameter, value_type) = binding.split_once('=')?;
            let (parameter, value_type) = (parameter.to_owned(), value_type.parse().ok()?);
            Some(Cell::Type(TypeCell { version: version.parse().ok()?, parameter, value_type }))
        };
        cell().ok_or_else(|| CellError(text.to_owned()))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Version(version) => f.write_str(&version.qualified()),
            Cell::Type(cell) => cell.fmt(f),
        }
    }
}

impl fmt::Display for TypeCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}={}", self.version.qualified(), self.parameter, self.value_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_reads_back() {
        for text in ["ai.onnx/Sum-13", "ai.onnx/Sum-13 T=tensor(float)", "ai.onnx/If-1 V=seq(tensor(int8))"] {
            assert_eq!(text.parse::<Cell>().unwrap().to_string(), text);
        }
        for text in ["", "Sum", "ai.onnx/Sum-13 T", "ai.onnx/Sum-13 T=float", "ai.onnx/Sum T=tensor(float)"] {
            assert!(text.parse::<Cell>().is_err(), "{text}");
        }
    }
}
