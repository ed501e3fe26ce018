//! Faulty kernel, and its class of defect.

use std::fmt;

use crate::Change;

/// Class of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A different function, or a missing step.
    Formula,
    /// An attribute or an optional input is ignored.
    Attribute,
    /// Values pass through a type that cannot represent them.
    Type,
    /// Elements beyond a vector, a block or 16 bits are wrong.
    Size,
    /// An approximation is too coarse, or the accumulator type too narrow.
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

/// Faulty kernel.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The domain of the operator.
    pub domain: String,
    /// The operator.
    pub operator: String,
    /// The faulty versions, from the first to the last.
    pub versions: (u32, u32),
    /// The class of the defect.
    pub class: Class,
    /// The defect in a few words.
    pub what: String,
    /// The effect on a call.
    pub change: Change,
    /// The reason why no required case has to detect it, if the standard does not decide.
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
