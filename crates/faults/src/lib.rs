//! Wrong kernels of every kind, and whether the suite notices them.
//!
//! A fault changes what one operator computes, as runtimes go wrong: a formula of another function, an attribute or input
//! that is ignored, the rules of another version, a type that passes through a narrower one, an element beyond a block, a
//! sum in half precision. Most faults are made from the specs, one for each attribute, input, type and version. A fault is
//! noticed if a required case gives other values, shapes or types than it must.

mod change;
mod formula;
mod linear;
mod list;
mod measure;

use std::fmt;

pub use change::Change;
pub use list::all;
pub use measure::{Verdict, measure};

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
