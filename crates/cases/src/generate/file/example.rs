//! Examples for readers: a case or refusal in one line, in the form of op.yaml.

use serde::Serialize;
use serde_yaml::Value;

use crate::generate::file::op_file::{CaseFile, RefusalFile};
use crate::generate::file::ordered::Ordered;
use crate::generate::file::output::OutputFile;

impl CaseFile {
    /// Returns the case as `X [1, 2], axis 0 -> Y [3]`, or `None` if the file states no output of it.
    pub fn example(&self) -> Option<String> {
        let is_stated = |output: &OutputFile| output.is_by_hand() || output.same_as.is_some() || output.check.is_some();
        if !self.outputs.0.iter().any(|(_, output)| is_stated(output)) {
            return None;
        }
        let nodes = self.nodes.iter().map(|nodes| nodes.lines().map(str::trim).collect::<Vec<_>>().join("; "));
        let again = named(&self.second_inputs).map(|input| format!("again {input}"));
        let given =
            nodes.chain(named(&self.names)).chain(named(&self.captured)).chain(named(&self.inputs)).chain(again);
        let given: Vec<String> = given.chain(named(&self.set)).chain(requested(self.request.as_deref())).collect();
        let outputs: Vec<String> = named(&self.outputs).collect();
        Some(format!("{} -> {}", given.join(", "), outputs.join(", ")))
    }
}

impl RefusalFile {
    /// Returns the refusal as `CONTROL, but axis 2, without B`.
    pub fn example(&self) -> String {
        let without = self.without.iter().map(|name| format!("without {name}"));
        let violation = named(&self.inputs).chain(named(&self.set)).chain(without);
        let violation: Vec<String> = violation.chain(requested(self.request.as_deref())).collect();
        format!("{}, but {}", self.control, violation.join(", "))
    }
}

/// Returns the values, each after its name. A graph may begin with the name.
fn named<V: Serialize>(values: &Ordered<V>) -> impl Iterator<Item = String> {
    let written = |value| serde_yaml::to_value(value).as_ref().map(in_one_line).unwrap_or_default();
    values.0.iter().map(move |(name, value)| match written(value) {
        written if written.starts_with(&format!("{name} (")) => written,
        written => format!("{name} {written}"),
    })
}

fn requested(outputs: Option<&[String]>) -> Option<String> {
    outputs.map(|outputs| format!("outputs [{}]", outputs.join(", ")))
}

/// Writes a value in one line. Of a value whose elements say all, only the elements remain.
fn in_one_line(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Tagged(tagged) => in_one_line(&tagged.value),
        Value::Sequence(items) => format!("[{}]", items.iter().map(in_one_line).collect::<Vec<_>>().join(", ")),
        Value::Mapping(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
            let fields: Vec<(&str, &Value)> = fields.filter(|field| !is_default(field)).collect();
            match fields.as_slice() {
                [("graph", Value::String(text))] => text.split_whitespace().collect::<Vec<_>>().join(" "),
                [("values", elements)] | [("values", elements), ("type", _)] => in_one_line(elements),
                fields => {
                    let field = |(key, value): &(&str, &Value)| format!("{key}: {}", in_one_line(value));
                    format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
                }
            }
        }
    }
}

/// Returns true if a field has the value of an omitted one.
fn is_default((key, value): &(&str, &Value)) -> bool {
    value.is_null() || (matches!(*key, "none" | "unspecified" | "zero_sign") && value.as_bool() == Some(false))
}

/// Writes a text in quotes if it has other characters than words and expressions, or could be a number.
fn quoted(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "_.+-*/() ".contains(c));
    if is_plain && !text.is_empty() && text.trim() == text && text.parse::<f64>().is_err() {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_its_inputs_and_outputs() {
        for (text, expected) in [
            ("{inputs: {X: {values: [1]}}, outputs: {Y: {values: [2]}}}", Some("X [1] -> Y [2]")),
            (
                "{inputs: {X: {values: ['a, b', c], type: T}, B: {shape: [2, 2 * H], all: 7}}, set: {mode: x},
                  let: {H: 1}, outputs: {Y: {values: []}}}",
                Some(r#"H 1, X ["a, b", c], B {shape: [2, 2 * H], all: 7}, mode x -> Y []"#),
            ),
            (
                "{inputs: {X: [{values: 1}, {shape: [2], fill: {range: [0, 1]}}]}, again: {X: [{values: 2}]},
                  request: [Y], outputs: {Y: {values: {each: [false, .nan]}}, Z: {any_of: [1, {none: true}]}}}",
                Some(
                    "X [1, {shape: [2], fill: {range: [0, 1]}}], again X [2], outputs [Y] \
                     -> Y {each: [false, .nan]}, Z {any_of: [1, {none: true}]}",
                ),
            ),
            (
                "{nodes: \"y = Abs (x)\\n  z = Neg (y)\", inputs: {x: {values: [1], type: T}},
                  set: {body: {graph: \"body () =>\\n (y)\"}}, outputs: {z: {values: [-1.5]}}}",
                Some("y = Abs (x); z = Neg (y), x [1], body () => (y) -> z [-1.5]"),
            ),
            ("{inputs: {X: {shape: [2]}}, outputs: {Y: {unspecified: true}}}", None),
        ] {
            let case: CaseFile = serde_yaml::from_str(text).unwrap();
            assert_eq!(case.example().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_is_its_control_and_the_violation() {
        let text = "{name: a, control: ab, inputs: {X: {values: 3}}, set: {mode: '1'}, without: [B]}";
        let refusal: RefusalFile = serde_yaml::from_str(text).unwrap();
        assert_eq!(refusal.example(), "ab, but X 3, mode \"1\", without B");
    }
}
