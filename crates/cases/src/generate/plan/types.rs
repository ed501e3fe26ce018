//! The types that a case runs with: every allowed type of each type parameter at least once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;

use crate::case::type_in_id;
use crate::generate::file::op_file::{CaseFile, TypesRule};
use crate::generate::file::ordered::Ordered;
use crate::generate::file::type_list::TypeList;

/// Error in the types of a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CaseTypesError {
    /// A list of types is for something other than a type parameter.
    #[error("{key} names '{name}', which is not a type parameter")]
    Parameter {
        /// The key of the lists: `only` or `except`.
        key: &'static str,
        /// The name.
        name: String,
    },
    /// A condition has neither `==` nor `!=`.
    #[error("'{0}' is not a condition; write bits(T1) == bits(T2), or T1 != T2")]
    Condition(String),
    /// A side of a condition is invalid.
    #[error("'{0}' is neither a type parameter nor bits(...), kind(...) or elem(...) of one")]
    Term(String),
}

/// The type of each type parameter of a case.
pub(crate) type Assignment = BTreeMap<String, ValueType>;

/// The version's names of the type parameters in cases.
pub(crate) struct TypeNames<'a> {
    /// The newest name, and that of the version, if they differ.
    older: Vec<(&'a str, &'a str)>,
}

impl<'a> TypeNames<'a> {
    /// Returns the names of a version, by the file's `rename_types`.
    pub(crate) fn new(renamed: &'a Ordered<Vec<String>>, spec: &OpSpec) -> TypeNames<'a> {
        let has = |name: &str| spec.types.contains_key(name);
        let other = |(newest, older): &'a (String, Vec<String>)| {
            let older = older.iter().find(|older| has(older)).filter(|_| !has(newest))?;
            Some((newest.as_str(), older.as_str()))
        };
        TypeNames { older: renamed.0.iter().filter_map(other).collect() }
    }

    /// Returns the version's name of a type parameter in a case.
    pub(crate) fn in_version<'b>(&'b self, name: &'b str) -> Option<&'b str> {
        match self.older.iter().find(|(newest, _)| *newest == name) {
            Some((_, older)) => Some(older),
            None => (!self.older.iter().any(|(_, older)| *older == name)).then_some(name),
        }
    }

    /// Returns true if the version has the type parameter of a case.
    fn has(&self, name: &str, spec: &OpSpec) -> bool {
        self.in_version(name).is_some_and(|name| spec.types.contains_key(name))
    }

    /// Returns the types by the names that cases use for their parameters.
    pub(crate) fn as_written<'b>(&self, types: &'b Assignment) -> Cow<'b, Assignment> {
        if self.older.is_empty() {
            return Cow::Borrowed(types);
        }
        let in_case = |name: &String| self.older.iter().find(|(_, older)| older == name).map(|(newest, _)| *newest);
        let entries = types.iter().map(|(name, value)| (in_case(name).unwrap_or(name).to_owned(), value.clone()));
        Cow::Owned(entries.collect())
    }
}

/// The types that a case may have at a version.
pub(crate) struct Types<'a> {
    /// Allowed types by type parameter, plainest first.
    allowed: Vec<(&'a String, Vec<&'a ValueType>)>,
    /// The condition, or `None` if it names a parameter that the version does not have.
    condition: Option<Condition>,
    rule: Option<TypesRule>,
    names: &'a TypeNames<'a>,
}

impl<'a> Types<'a> {
    /// Finds the types. `used` holds the type parameters of the case's inputs and bindings, by the version's names.
    pub(crate) fn new(
        spec: &'a OpSpec,
        case: &CaseFile,
        used: &'a BTreeSet<String>,
        names: &'a TypeNames<'a>,
    ) -> Result<Types<'a>, CaseTypesError> {
        for (key, lists) in [("only", &case.only), ("except", &case.except)] {
            if let Some(name) = lists.keys().find(|parameter| !is_type_parameter(parameter)) {
                return Err(CaseTypesError::Parameter { key, name: name.to_owned() });
            }
        }
        let allowed_types = |parameter: &'a String| {
            let types = spec.types.get(parameter).map_or(&[][..], Vec::as_slice);
            let (only, except) = (list_of(&case.only, parameter, names), list_of(&case.except, parameter, names));
            let wanted = |value_type: &&ValueType| {
                only.is_none_or(|only| only.contains(value_type))
                    && except.is_none_or(|except| !except.contains(value_type))
            };
            let mut types: Vec<&ValueType> = types.iter().filter(wanted).collect();
            types.sort_by_key(|value_type| plainness(value_type));
            (parameter, types)
        };
        let condition = case.condition.as_deref().map(Condition::parse).transpose()?;
        let condition = condition.filter(|condition| condition.parameters().all(|name| names.has(name, spec)));
        Ok(Types { allowed: used.iter().map(allowed_types).collect(), condition, rule: case.types, names })
    }

    /// Returns assignments that together contain each type, plainest first, or all assignments.
    pub(crate) fn rows(&self) -> Vec<Assignment> {
        let all = || product(&self.allowed).into_iter().filter(|assignment| self.holds(assignment)).collect();
        match (self.rule, &self.condition) {
            (Some(TypesRule::Product), _) => all(),
            (None, Some(_)) => covering(all()),
            (None, None) => each_once(&self.allowed),
        }
    }

    /// Returns true if the case's condition holds.
    pub(crate) fn holds(&self, assignment: &Assignment) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(&self.names.as_written(assignment)))
    }
}

/// Returns the list of a case for a parameter of the version.
fn list_of<'a>(lists: &'a Ordered<TypeList>, parameter: &str, names: &TypeNames<'_>) -> Option<&'a TypeList> {
    lists.0.iter().find(|(name, _)| names.in_version(name) == Some(parameter)).map(|(_, list)| list)
}

/// Returns true if the text begins as type parameters do, with a capital letter.
fn is_type_parameter(parameter: &str) -> bool {
    parameter.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Sort key: float tensors first, then the other tensors by code, then containers. The first assignment is the
/// plainest.
fn plainness(value_type: &ValueType) -> (u8, i32) {
    let code = value_type.element_type().code();
    match value_type {
        ValueType::Tensor(ElementType::Float) => (0, code),
        ValueType::Tensor(ElementType::Int64) => (1, code),
        ValueType::Tensor(_) => (2, code),
        ValueType::Sequence(_) => (3, code),
        ValueType::Optional(_) => (4, code),
        ValueType::Map(..) | ValueType::SparseTensor(_) => (5, code),
    }
}

/// Returns as many rows as the longest list has types. Shorter lists repeat.
fn each_once(allowed: &[(&String, Vec<&ValueType>)]) -> Vec<Assignment> {
    let rows = allowed.iter().map(|(_, types)| types.len()).max().unwrap_or(1);
    if allowed.iter().any(|(_, types)| types.is_empty()) {
        return Vec::new();
    }
    let row = |at: usize| {
        allowed.iter().map(|(parameter, types)| ((*parameter).clone(), types[at % types.len()].clone())).collect()
    };
    (0..rows).map(row).collect()
}

fn product(allowed: &[(&String, Vec<&ValueType>)]) -> Vec<Assignment> {
    allowed.iter().fold(vec![Assignment::new()], |rows, (parameter, types)| {
        let with = |row: &Assignment, value_type: &&ValueType| {
            let mut row = row.clone();
            row.insert((*parameter).clone(), (*value_type).clone());
            row
        };
        rows.iter().flat_map(|row| types.iter().map(move |value_type| with(row, value_type))).collect()
    })
}

/// Returns the rows with a type that no earlier row has.
fn covering(rows: Vec<Assignment>) -> Vec<Assignment> {
    let mut seen = BTreeSet::new();
    rows.into_iter()
        .filter(|row| {
            let fresh: Vec<(String, ValueType)> = row
                .iter()
                .filter(|(k, v)| !seen.contains(&((*k).clone(), (*v).clone())))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            let any = !fresh.is_empty();
            seen.extend(fresh);
            any
        })
        .collect()
}

/// `TERM == TERM` or `TERM != TERM`. A term is a type parameter, its `bits` or `kind`, or its `elem`: the item type of
/// a sequence or an optional.
struct Condition {
    left: Term,
    right: Term,
    equal: bool,
}

enum Term {
    Bits(String),
    Kind(String),
    Item(String),
    Type(String),
}

impl Condition {
    fn parse(text: &str) -> Result<Condition, CaseTypesError> {
        let (left, right, equal) = match (text.split_once("=="), text.split_once("!=")) {
            (Some((left, right)), _) => (left, right, true),
            (None, Some((left, right))) => (left, right, false),
            _ => return Err(CaseTypesError::Condition(text.to_owned())),
        };
        Ok(Condition { left: Term::parse(left)?, right: Term::parse(right)?, equal })
    }

    /// Returns the type parameters in the condition.
    fn parameters(&self) -> impl Iterator<Item = &str> {
        [&self.left, &self.right].into_iter().map(Term::parameter)
    }

    fn holds(&self, assignment: &Assignment) -> bool {
        (self.left.value(assignment) == self.right.value(assignment)) == self.equal
    }
}

impl Term {
    fn parse(text: &str) -> Result<Term, CaseTypesError> {
        let text = text.trim();
        match text.split_once('(').and_then(|(function, rest)| Some((function, rest.strip_suffix(')')?.to_owned()))) {
            Some(("bits", parameter)) => Ok(Term::Bits(parameter)),
            Some(("kind", parameter)) => Ok(Term::Kind(parameter)),
            Some(("elem", parameter)) => Ok(Term::Item(parameter)),
            None if is_type_parameter(text) => Ok(Term::Type(text.to_owned())),
            _ => Err(CaseTypesError::Term(text.to_owned())),
        }
    }

    fn parameter(&self) -> &str {
        match self {
            Term::Bits(parameter) | Term::Kind(parameter) | Term::Item(parameter) | Term::Type(parameter) => parameter,
        }
    }

    fn value(&self, assignment: &Assignment) -> Option<String> {
        match self {
            Term::Bits(parameter) => Some(assignment.get(parameter)?.element_type().bits().to_string()),
            Term::Kind(parameter) => Some(format!("{:?}", assignment.get(parameter)?.element_type().kind())),
            Term::Item(parameter) => match assignment.get(parameter)? {
                ValueType::Sequence(item) | ValueType::Optional(item) => Some(item.to_string()),
                other => Some(other.to_string()),
            },
            Term::Type(parameter) => Some(assignment.get(parameter)?.to_string()),
        }
    }
}

/// Returns the part of an id that names the types: the type parameters for which the version allows several.
pub(crate) fn label(spec: &OpSpec, assignment: &Assignment) -> Option<String> {
    let parts: Vec<String> = assignment
        .iter()
        .filter(|(parameter, _)| spec.types.get(*parameter).is_some_and(|types| types.len() > 1))
        .map(|(parameter, value_type)| format!("{parameter}={}", type_in_id(value_type)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_of_a_sequence_may_have_the_type_of_another_parameter() {
        let assignment = |sequence: &str, tensor: &str| {
            let types = [("S", sequence), ("T", tensor)];
            types.into_iter().map(|(name, text)| (name.to_owned(), text.parse().unwrap())).collect::<Assignment>()
        };
        let condition = Condition::parse("elem(S) == T").unwrap();
        assert!(condition.holds(&assignment("seq(tensor(float))", "tensor(float)")));
        assert!(!condition.holds(&assignment("seq(tensor(float))", "tensor(double)")));
        assert!(Condition::parse("item(S) == T").is_err());
    }
}
