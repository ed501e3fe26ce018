//! A wrong kernel, and what kind of mistake it is.

use std::fmt;

use crate::Change;

/// What kind of mistake a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another function, or a step of it left out.
    Formula,
    /// An attribute or an optional input is ignored.
    Attribute,
    /// Values pass through a type that does not hold them.
    Type,
    /// Elements beyond a vector, a block or 16 bits go wrong.
    Size,
    /// Too coarse an approximation, or a sum in a type too narrow.
    Precision,
    /// The rules of another version of the operator.
    Version,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 6] =
        [Class::Formula, Class::Attribute, Class::Type, Class::Size, Class::Precision, Class::Version];
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Formula => "formula",
            Class::Attribute => "attribute",
            Class::Type => "type",
            Class::Size => "size",
            Class::Precision => "precision",
            Class::Version => "version",
        })
    }
}

/// A wrong kernel.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The domain of the operator.
    pub domain: String,
    /// The operator.
    pub operator: String,
    /// The versions that are wrong, from the first to the last.
    pub versions: (u32, u32),
    /// What kind of mistake it is.
    pub class: Class,
    /// The mistake in a few words.
    pub what: String,
    /// What it does.
    pub change: Change,
    /// Why no required case need notice it, where the standard does not decide.
    pub undecided: Option<&'static str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.versions;
        write!(f, "{}/{}-{first}", self.domain, self.operator)?;
        if last != first {
            write!(f, "..{last}")?;
        }
        write!(f, " {}: {}", self.class, self.what)
    }
}
