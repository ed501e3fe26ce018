//! Outputs in op.yaml.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::generate::file::alternatives::{AlternativeAxis, AlternativeError, OneOrEach};
use crate::generate::file::check::CheckFile;
use crate::generate::file::literal::Literal;
use crate::generate::file::value_file::{MapFile, ShapeFile, ValueFile};

/// An output derived by hand, or the known part of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OutputFile {
    /// The shape.
    pub shape: Option<OneOrEach<ShapeFile>>,
    /// The elements. Nested lists give the shape, unless `shape` does. For an optional, those of the tensor in it.
    pub values: Option<OneOrEach<Literal>>,
    /// The value of every element.
    pub all: Option<Literal>,
    /// The items of a sequence, or of one in an optional.
    pub sequence: Option<OneOrEach<Vec<ValueFile>>>,
    /// True for an optional without a value.
    #[serde(default, rename = "none")]
    pub is_absent: bool,
    /// The entries of a map.
    pub map: Option<OneOrEach<MapFile>>,
    /// The indices of the elements of a sparse tensor; `values` has the elements.
    pub sparse: Option<Literal>,
    /// Several outputs that are all correct.
    pub any_of: Option<Vec<Alternative>>,
    /// The input that the output equals: one node reverses what another does.
    pub same_as: Option<String>,
    /// True if only type and shape are fixed.
    #[serde(default)]
    pub unspecified: bool,
    /// True if zeros must have the sign of the expected ones. Only with `accuracy: exact`.
    #[serde(default)]
    pub zero_sign: bool,
    /// A check of the output other than element by element.
    pub check: Option<CheckFile>,
}

/// One of several outputs that are all correct: the elements of a tensor, or a value in the form of inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Alternative {
    /// The elements.
    Literal(Literal),
    /// A value of any type.
    Value(Box<ValueFile>),
}

impl Alternative {
    /// Returns the value in the form of inputs.
    pub(crate) fn value(&self) -> ValueFile {
        match self {
            Alternative::Literal(literal) => {
                ValueFile { values: Some(OneOrEach::One(literal.clone())), ..ValueFile::default() }
            }
            Alternative::Value(value) => (**value).clone(),
        }
    }
}

impl<'de> Deserialize<'de> for Alternative {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AlternativeVisitor)
    }
}

/// Distinguishes a value from elements by its form, so that an error points at the mistake inside.
struct AlternativeVisitor;

impl<'de> Visitor<'de> for AlternativeVisitor {
    type Value = Alternative;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("elements such as [1, 2], or a value such as {sequence: [{values: [1, 2]}]}")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Alternative, E> {
        Ok(Alternative::Literal(Literal::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Alternative, E> {
        Ok(Alternative::Literal(Literal::Integer(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Alternative, E> {
        let literal = i64::try_from(value).map_or(Literal::Large(value), Literal::Integer);
        Ok(Alternative::Literal(literal))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Alternative, E> {
        Ok(Alternative::Literal(Literal::Float(value)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Alternative, E> {
        Ok(Alternative::Literal(Literal::Text(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Alternative, A::Error> {
        ValueFile::deserialize(MapAccessDeserializer::new(map)).map(|value| Alternative::Value(Box::new(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Alternative, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(|items| Alternative::Literal(Literal::List(items)))
    }
}

impl OutputFile {
    /// Returns true if the output is derived by hand for any alternative of the case.
    pub(crate) fn is_by_hand(&self) -> bool {
        let is_tensor = self.values.is_some() || self.all.is_some() || self.any_of.is_some();
        is_tensor || self.sequence.is_some() || self.map.is_some() || self.is_absent
    }

    /// Returns the output by hand for the alternatives of a case, or `None` if there is none.
    pub(crate) fn written(
        &self,
        axes: &[AlternativeAxis],
        choices: &[usize],
    ) -> Result<Option<ValueFile>, AlternativeError> {
        use Selection::Chosen;
        let chosen = |axes| ChosenAlternatives { axes, choices };
        let (Chosen(values), Chosen(shape), Chosen(sequence), Chosen(map)) = (
            chosen(axes).find(self.values.as_ref())?,
            chosen(axes).find(self.shape.as_ref())?,
            chosen(axes).find(self.sequence.as_ref())?,
            chosen(axes).find(self.map.as_ref())?,
        ) else {
            return Ok(None);
        };
        if values.is_none() && self.all.is_none() && sequence.is_none() && map.is_none() && !self.is_absent {
            return Ok(None);
        }
        Ok(Some(ValueFile {
            shape: shape.cloned().map(OneOrEach::One),
            values: values.cloned().map(OneOrEach::One),
            all: self.all.clone(),
            sequence: sequence.cloned(),
            is_absent: self.is_absent,
            map: map.cloned(),
            sparse: self.sparse.clone(),
            ..ValueFile::default()
        }))
    }

    /// Returns true if the file alone decides the expectation for the alternatives of a case, not our kernels.
    pub(crate) fn decides_expectation(&self, axes: &[AlternativeAxis], choices: &[usize]) -> bool {
        let is_written = self.written(axes, choices).is_ok_and(|written| written.is_some());
        is_written
            || self.same_as.is_some()
            || self.any_of.is_some()
            || self.unspecified
            || self.check.as_ref().is_some_and(CheckFile::is_free)
    }
}

/// The alternatives of a case, by which those of an output are chosen.
struct ChosenAlternatives<'a> {
    axes: &'a [AlternativeAxis],
    choices: &'a [usize],
}

/// Result of the search for the alternative of an output.
enum Selection<T> {
    /// The alternative, or `None` if the file has no such key.
    Chosen(Option<T>),
    /// No alternative of the output is for the case.
    Excluded,
}

impl ChosenAlternatives<'_> {
    fn find<'b, T>(&self, choice: Option<&'b OneOrEach<T>>) -> Result<Selection<&'b T>, AlternativeError> {
        let Some(choice) = choice else { return Ok(Selection::Chosen(None)) };
        let Some(named) = choice.named() else {
            // Listed alternatives correspond to the alternatives of the first axis, in order.
            let mut first = std::iter::once(self.choices.first().copied().unwrap_or(0));
            return choice.pick(&mut first).map(|value| Selection::Chosen(Some(value)));
        };
        let mut found = Selection::Excluded;
        for (name, value) in &named.0 {
            if self.is_called(name)? {
                if matches!(found, Selection::Chosen(_)) {
                    return Err(AlternativeError::Several(name.clone()));
                }
                found = Selection::Chosen(Some(value));
            }
        }
        Ok(found)
    }

    /// Returns true if the case has all alternatives that a name lists: `LABEL`, `AXIS=LABEL`, or several with commas.
    fn is_called(&self, name: &str) -> Result<bool, AlternativeError> {
        let mut all = true;
        for part in name.split(',') {
            all &= self.is_at(part.trim())?;
        }
        Ok(all)
    }

    fn is_at(&self, part: &str) -> Result<bool, AlternativeError> {
        let (axis, label) = part.split_once('=').map_or((None, part), |(axis, label)| (Some(axis), label));
        let mut matches = Vec::new();
        for (candidate, pick) in self.axes.iter().zip(self.choices) {
            let is_on_axis = axis.is_none_or(|axis| axis == candidate.name);
            if let Some(at) = candidate.labels.iter().position(|other| other == label).filter(|_| is_on_axis) {
                matches.push(at == *pick);
            }
        }
        match matches.as_slice() {
            [] => Err(AlternativeError::Unknown { name: part.to_owned(), known: self.known() }),
            [first, rest @ ..] if rest.iter().all(|other| other == first) => Ok(*first),
            _ => Err(AlternativeError::Ambiguous(part.to_owned())),
        }
    }

    /// Returns the full names of the alternatives.
    fn known(&self) -> Vec<String> {
        let axis = |axis: &AlternativeAxis| {
            axis.labels.iter().map(|label| format!("{}={label}", axis.name)).collect::<Vec<_>>()
        };
        self.axes.iter().flat_map(axis).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Vec<AlternativeAxis> {
        let axis = |name: &str, labels: &[&str]| AlternativeAxis {
            name: name.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        vec![axis("axis", &["0", "-1"]), axis("mode", &["even", "odd"]), axis("keepdims", &["0", "1"])]
    }

    fn check(text: &str, choices: [usize; 3], expected: Result<Option<i64>, &str>) {
        let output: OutputFile = serde_yaml::from_str(text).unwrap();
        let actual = output.written(&axes(), &choices).map(|written| match written?.values? {
            OneOrEach::One(Literal::Integer(value)) => Some(value),
            _ => None,
        });
        match (actual, expected) {
            (Ok(actual), Ok(expected)) => assert_eq!(actual, expected, "{text}"),
            (Err(actual), Err(expected)) => assert!(actual.to_string().contains(expected), "{text}: {actual}"),
            (actual, expected) => panic!("{text}: {actual:?}, not {expected:?}"),
        }
    }

    #[test]
    fn an_output_belongs_to_the_alternative_of_its_name() {
        check("{values: 7}", [1, 1, 1], Ok(Some(7)));
        check("{values: {each: [3, 4]}}", [1, 0, 0], Ok(Some(4)));
        check("{values: {each: {odd: 5, even: 6}}}", [0, 1, 0], Ok(Some(5)));
        check("{values: {each: {odd: 5}}}", [0, 0, 0], Ok(None));
        check("{values: {each: {'axis=0': 1, 'axis=-1': 2}}}", [1, 0, 0], Ok(Some(2)));
        check("{values: {each: {'axis=0,keepdims=0': 1, 'axis=0,keepdims=1': 2}}}", [0, 0, 1], Ok(Some(2)));
    }

    #[test]
    fn an_unknown_or_ambiguous_name_is_refused() {
        check(
            "{values: {each: {off: 5}}}",
            [0, 0, 0],
            Err("an output has the alternative 'off', but the case does not"),
        );
        check("{values: {each: {'0': 5}}}", [0, 0, 1], Err("several inputs or settings have an alternative '0'"));
        check("{values: {each: {odd: 5, 'axis=0': 6}}}", [0, 1, 0], Err("two alternatives"));
    }

    #[test]
    fn one_of_several_may_be_a_container() {
        let output: OutputFile = serde_yaml::from_str("{any_of: [[1, 2], 3, {sequence: []}]}").unwrap();
        let kinds: Vec<bool> =
            output.any_of.unwrap().iter().map(|one| matches!(one, Alternative::Literal(_))).collect();
        assert_eq!(kinds, [true, true, false]);
        let error = serde_yaml::from_str::<OutputFile>("{any_of: [{sequences: []}]}").unwrap_err();
        assert!(error.to_string().contains("sequences"), "{error}");
    }
}
