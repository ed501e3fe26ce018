//! Changes as text: lower-case fragments that read the same in a terminal, on a page and in an error.

use std::fmt;

use super::attribute::DefaultValue;
use super::diff::Change;
use super::operator::FunctionKind;
use super::type_list::type_list;

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Meaning { version, meaning } => write!(f, "{version}: {meaning}"),
            Change::Deprecated { now } => f.write_str(if *now { "deprecated" } else { "no longer deprecated" }),
            Change::Experimental { now } => f.write_str(if *now { "experimental" } else { "no longer experimental" }),
            Change::Function { from, to } => write!(f, "{}", function(*from, *to)),
            Change::ShapeInference { now } => write!(f, "shape inference {}", added(*now)),
            Change::AttributeAdded { name, kind, required, default } => {
                write!(f, "attribute {name} added ({kind}, {})", value_when_absent(*required, default.as_ref()))
            }
            Change::AttributeRemoved { name } => write!(f, "attribute {name} removed"),
            Change::AttributeType { name, from, to } => write!(f, "attribute {name} is of type {to} instead of {from}"),
            Change::AttributeRequired { name, now: true } => write!(f, "attribute {name} is required"),
            Change::AttributeRequired { name, now: false } => write!(f, "attribute {name} is optional"),
            Change::AttributeDefault { name, from, to } => {
                let (from, to) = (value_when_absent(false, from.as_ref()), value_when_absent(false, to.as_ref()));
                write!(f, "attribute {name} has {to} instead of {from}")
            }
            Change::ValuesAdded { attribute, values } => {
                write!(f, "attribute {attribute} allows {}", values.join(", "))
            }
            Change::ValuesRemoved { attribute, values } => {
                write!(f, "attribute {attribute} no longer allows {}", values.join(", "))
            }
            Change::ParameterAdded { side, position, name, kind, presence } => {
                write!(f, "{side} {name} added at {position} ({kind}, {presence})")
            }
            Change::ParameterRemoved { side, position, name } => write!(f, "{side} {name} removed from {position}"),
            Change::ParameterRenamed { side, from, to, .. } => write!(f, "{side} {from} renamed to {to}"),
            Change::ParameterMoved { side, name, from, to } => write!(f, "{side} {name} moved from {from} to {to}"),
            Change::ParameterPresence { side, name, from, to } => write!(f, "{side} {name} is {to} instead of {from}"),
            Change::ParameterType { side, name, from, to } => {
                write!(f, "{side} {name} has type {to} instead of {from}")
            }
            Change::TypeParameterRenamed { from, to } => write!(f, "type parameter {from} renamed to {to}"),
            Change::TypeParameterAdded { name, types } => {
                write!(f, "type parameter {name} added: {}", type_list(types))
            }
            Change::TypeParameterRemoved { name } => write!(f, "type parameter {name} removed"),
            Change::TypesAdded { parameter, types } => write!(f, "{} added to {parameter}", type_list(types)),
            Change::TypesRemoved { parameter, types } => write!(f, "{} removed from {parameter}", type_list(types)),
        }
    }
}

fn added(now: bool) -> &'static str {
    if now { "added" } else { "removed" }
}

fn function(from: Option<FunctionKind>, to: Option<FunctionKind>) -> String {
    match (from, to) {
        (_, None) => "function body removed".to_owned(),
        (None, Some(FunctionKind::Body)) => "function body added".to_owned(),
        (None, Some(FunctionKind::Context)) => "function body added, built for each node".to_owned(),
        (Some(_), Some(FunctionKind::Body)) => "function body is one for every node".to_owned(),
        (Some(_), Some(FunctionKind::Context)) => "function body is built for each node".to_owned(),
    }
}

fn value_when_absent(required: bool, default: Option<&DefaultValue>) -> String {
    match default {
        Some(default) => format!("default {default}"),
        None if required => "required".to_owned(),
        None => "no default".to_owned(),
    }
}
