//! Name, code, width and kind of each element type.

use std::fmt;
use std::str::FromStr;

/// An element type of a tensor, spelt as ONNX spells it inside `tensor(...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are ONNX's own and documented there")]
#[non_exhaustive]
pub enum ElementType {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8e4m3fn = 17,
    Float8e4m3fnuz = 18,
    Float8e5m2 = 19,
    Float8e5m2fnuz = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4e2m1 = 23,
    Float8e8m0 = 24,
    Uint2 = 25,
    Int2 = 26,
    Float6e2m3 = 27,
    Float6e3m2 = 28,
}

/// Kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// IEEE or IEEE-like binary floating point.
    Float,
    /// Two's complement integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// `bool`.
    Bool,
    /// A pair of floats.
    Complex,
    /// UTF-8 text.
    String,
}

use ElementType as E;

impl ElementType {
    /// Every element type, by code.
    pub const ALL: [ElementType; 28] = [
        E::Float,
        E::Uint8,
        E::Int8,
        E::Uint16,
        E::Int16,
        E::Int32,
        E::Int64,
        E::String,
        E::Bool,
        E::Float16,
        E::Double,
        E::Uint32,
        E::Uint64,
        E::Complex64,
        E::Complex128,
        E::Bfloat16,
        E::Float8e4m3fn,
        E::Float8e4m3fnuz,
        E::Float8e5m2,
        E::Float8e5m2fnuz,
        E::Uint4,
        E::Int4,
        E::Float4e2m1,
        E::Float8e8m0,
        E::Uint2,
        E::Int2,
        E::Float6e2m3,
        E::Float6e3m2,
    ];

    /// ONNX's name, the kind and the width in bits of the type (`String` has none), and the first IR version that has it.
    const fn row(self) -> (&'static str, Kind, u32, u32) {
        match self {
            E::Float => ("float", Kind::Float, 32, 3),
            E::Uint8 => ("uint8", Kind::Unsigned, 8, 3),
            E::Int8 => ("int8", Kind::Signed, 8, 3),
            E::Uint16 => ("uint16", Kind::Unsigned, 16, 3),
            E::Int16 => ("int16", Kind::Signed, 16, 3),
            E::Int32 => ("int32", Kind::Signed, 32, 3),
            E::Int64 => ("int64", Kind::Signed, 64, 3),
            E::String => ("string", Kind::String, 0, 3),
            E::Bool => ("bool", Kind::Bool, 8, 3),
            E::Float16 => ("float16", Kind::Float, 16, 3),
            E::Double => ("double", Kind::Float, 64, 3),
            E::Uint32 => ("uint32", Kind::Unsigned, 32, 3),
            E::Uint64 => ("uint64", Kind::Unsigned, 64, 3),
            E::Complex64 => ("complex64", Kind::Complex, 64, 3),
            E::Complex128 => ("complex128", Kind::Complex, 128, 3),
            E::Bfloat16 => ("bfloat16", Kind::Float, 16, 4),
            E::Float8e4m3fn => ("float8e4m3fn", Kind::Float, 8, 9),
            E::Float8e4m3fnuz => ("float8e4m3fnuz", Kind::Float, 8, 9),
            E::Float8e5m2 => ("float8e5m2", Kind::Float, 8, 9),
            E::Float8e5m2fnuz => ("float8e5m2fnuz", Kind::Float, 8, 9),
            E::Uint4 => ("uint4", Kind::Unsigned, 4, 10),
            E::Int4 => ("int4", Kind::Signed, 4, 10),
            E::Float4e2m1 => ("float4e2m1", Kind::Float, 4, 11),
            E::Float8e8m0 => ("float8e8m0", Kind::Float, 8, 12),
            E::Uint2 => ("uint2", Kind::Unsigned, 2, 13),
            E::Int2 => ("int2", Kind::Signed, 2, 13),
            E::Float6e2m3 => ("float6e2m3", Kind::Float, 6, 14),
            E::Float6e3m2 => ("float6e3m2", Kind::Float, 6, 14),
        }
    }

    /// The name that ONNX writes inside `tensor(...)`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The kind of number.
    pub const fn kind(self) -> Kind {
        self.row().1
    }

    /// The width of one element in bits, as `raw_data` packs it; 0 for `string`.
    pub const fn bits(self) -> u32 {
        self.row().2
    }

    /// The first IR version that has the type; 3, the first with operator set imports, for the types of older ones.
    pub const fn first_ir(self) -> u32 {
        self.row().3
    }

    /// The number of bytes of an element in a [`crate::tensor::Tensor`]: 1 for sub-byte types, 0 for `string`.
    pub const fn size(self) -> usize {
        self.row().2.div_ceil(8) as usize
    }

    /// The value of `TensorProto.DataType`.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The element type with this `TensorProto.DataType` value.
    pub fn from_code(code: i32) -> Option<ElementType> {
        Self::ALL.into_iter().find(|t| t.code() == code)
    }

    /// The type of one component of a complex number; any other type itself.
    #[must_use]
    pub const fn component(self) -> ElementType {
        match self {
            E::Complex64 => E::Float,
            E::Complex128 => E::Double,
            other => other,
        }
    }

    /// True if the type is an integer (`bool` is not).
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// True if the type is a real floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: a name that is not an element type.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not an element type; ONNX has {names}", names = ElementType::ALL.map(ElementType::name).join(", "))]
pub struct UnknownElementType(String);

impl FromStr for ElementType {
    type Err = UnknownElementType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| UnknownElementType(name.to_owned()))
    }
}
