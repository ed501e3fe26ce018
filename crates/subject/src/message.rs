//! The messages of the adapter protocol. docs/protocol.md defines their meaning.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::declaration::deserialize_present;
use crate::{Declaration, MissingFeature, Operators, Phase, Question};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Longest line in bytes.
pub const MAX_LINE: usize = 1 << 20;

/// Largest number of characters of a foreign message that are kept and shown.
pub const MAX_MESSAGE: usize = 2_000;

/// A message of the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "cmd", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    /// The first message of a process.
    Start {
        /// The version of the protocol.
        protocol: u32,
    },
    /// A request to run one model once on one set of inputs.
    Run {
        /// The number of the request, which the answer repeats.
        seq: u64,
        /// The file of the model. External data is next to it.
        model: String,
        /// The inputs, in the order of the graph's.
        inputs: Vec<ValueFile>,
        /// The requested outputs, with the paths to write them to.
        outputs: Vec<ValueFile>,
    },
    /// A request for the operators of a model before and after optimization. Only adapters that declare `optimize` get it.
    Optimize {
        /// The number of the request, which the answer repeats.
        seq: u64,
        /// The file of the model.
        model: String,
    },
    /// A question about a model that is not run. Only subjects that declare the question get it.
    Ask {
        /// The number of the request, which the answer repeats.
        seq: u64,
        /// The question.
        ask: Question,
        /// The file of the model. External data is next to it.
        model: String,
        /// The file to write the resulting model to, if the answer is a model.
        #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        result: Option<String>,
        /// The opset of ONNX's default domain to convert to.
        #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "u32"))]
        opset: Option<u32>,
    },
    /// A request to end the process.
    Stop {},
}

impl Command {
    /// Returns the request to optimize the model of a request to run one.
    pub(super) fn to_optimize(&self) -> Command {
        match self {
            Command::Run { seq, model, .. } => Command::Optimize { seq: *seq, model: model.clone() },
            other => other.clone(),
        }
    }
}

/// A file with a value, or to be written with one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueFile {
    /// The name of the graph's input or output.
    pub name: String,
    /// The type, as in ONNX's operator schemas: `tensor(float)`. It decides the kind of message in the file.
    #[serde(rename = "type")]
    pub value_type: String,
    /// The absolute path of the file.
    pub path: String,
}

/// Answer of an adapter to `start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The declaration of the runtime.
    #[serde(deserialize_with = "deserialize_object")]
    pub runtime: Declaration,
}

/// Answer of an adapter to `run`: the number of the request and exactly one of `ok`, `unsupported` and `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Answer {
    /// The number of the request.
    pub seq: u64,
    /// The result of the request.
    pub result: Answered,
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The outputs are in their files.
    Ok,
    /// The runtime does not support a feature of the standard.
    Unsupported(Unsupported),
    /// The runtime refused the model or failed on it.
    Error(Failure),
}

/// Answer of an adapter to `optimize`: the number of the request and exactly one of `operators` and `unknown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OptimizedFields", into = "OptimizedFields")]
pub struct Optimized {
    /// The number of the request.
    pub seq: u64,
    /// The operators, or the reason why they are unknown.
    pub result: Result<Operators, String>,
}

/// The fields of an answer to `optimize` before validation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptimizedFields {
    seq: u64,
    #[serde(default, deserialize_with = "deserialize_present_object", skip_serializing_if = "Option::is_none")]
    operators: Option<Operators>,
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

impl TryFrom<OptimizedFields> for Optimized {
    type Error = &'static str;

    fn try_from(fields: OptimizedFields) -> Result<Optimized, Self::Error> {
        let result = match (fields.operators, fields.unknown) {
            (Some(operators), None) => Ok(operators),
            (None, Some(reason)) => Err(reason),
            (None, None) => return Err("none of `operators` and `unknown` is present"),
            (Some(_), Some(_)) => return Err("both `operators` and `unknown` are present"),
        };
        Ok(Optimized { seq: fields.seq, result })
    }
}

impl From<Optimized> for OptimizedFields {
    fn from(answer: Optimized) -> OptimizedFields {
        let (operators, unknown) = match answer.result {
            Ok(operators) => (Some(operators), None),
            Err(reason) => (None, Some(reason)),
        };
        OptimizedFields { seq: answer.seq, operators, unknown }
    }
}

/// A feature that a runtime does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// The feature, in the same form for every case that needs it: `operator ai.onnx/Abs-13`.
    pub what: String,
    /// The message of the runtime, unchanged.
    pub message: String,
}

/// Failure of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The phase of the failure.
    pub phase: Phase,
    /// The message of the runtime, unchanged.
    pub message: String,
}

/// The fields of an answer before validation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    seq: u64,
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_present_object", skip_serializing_if = "Option::is_none")]
    unsupported: Option<Unsupported>,
    #[serde(default, deserialize_with = "deserialize_present_object", skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl TryFrom<Fields> for Answer {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Answer, Self::Error> {
        let result = match (fields.ok, fields.unsupported, fields.error) {
            (Some(true), None, None) => Answered::Ok,
            (Some(false), None, None) => return Err("`ok` can only be true; report a failure as `error`"),
            (None, Some(unsupported), None) => Answered::Unsupported(unsupported),
            (None, None, Some(failure)) => Answered::Error(failure),
            (None, None, None) => return Err("none of `ok`, `unsupported` and `error` is present"),
            _ => return Err("more than one of `ok`, `unsupported` and `error` is present"),
        };
        Ok(Answer { seq: fields.seq, result })
    }
}

impl From<Answer> for Fields {
    fn from(answer: Answer) -> Fields {
        let mut fields = Fields { seq: answer.seq, ok: None, unsupported: None, error: None };
        match answer.result {
            Answered::Ok => fields.ok = Some(true),
            Answered::Unsupported(unsupported) => fields.unsupported = Some(unsupported),
            Answered::Error(failure) => fields.error = Some(failure),
        }
        fields
    }
}

/// The forms of answers, for their schemas.
#[cfg(feature = "schema")]
mod forms {
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Answer, Failure, Operators, Optimized, Unsupported};

    #[expect(dead_code, reason = "only the schema is used")]
    #[derive(JsonSchema)]
    #[schemars(untagged, deny_unknown_fields)]
    enum Form {
        /// The outputs are in their files.
        Ok { seq: u64, ok: True },
        /// The runtime does not support a feature of the standard.
        Unsupported { seq: u64, unsupported: Unsupported },
        /// The runtime refused the model or failed on it.
        Error { seq: u64, error: Failure },
    }

    #[expect(dead_code, reason = "only the schema is used")]
    #[derive(JsonSchema)]
    #[schemars(untagged, deny_unknown_fields)]
    enum OptimizedForm {
        /// The operators.
        Known { seq: u64, operators: Operators },
        /// The reason why they are unknown.
        Unknown { seq: u64, unknown: String },
    }

    impl JsonSchema for Optimized {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Optimized".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            OptimizedForm::json_schema(generator)
        }
    }

    struct True;

    impl JsonSchema for True {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "True".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "const": true })
        }
    }

    impl JsonSchema for Answer {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Answer".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Form::json_schema(generator)
        }
    }
}

/// A message that an adapter sends as an answer.
pub trait Message: DeserializeOwned {
    /// Example of the message.
    const FORM: &'static str;
}

impl Message for Started {
    const FORM: &'static str = r#"{"runtime":{"name":"...","version":"..."}}"#;
}

impl Message for Answer {
    const FORM: &'static str = r#"{"seq":N} with one of "ok":true, "unsupported":{"what":"...","message":"..."} and "error":{"phase":"load" or "run","message":"..."}"#;
}

impl Message for Optimized {
    const FORM: &'static str =
        r#"{"seq":N} with one of "operators":{"before":{...},"after":{"ai.onnx/Abs":1}} and "unknown":"...""#;
}

/// A message that repeats the number of its request.
pub trait Numbered: Message + Serialize {
    /// Returns the number.
    fn seq(&self) -> u64;
}

impl Numbered for Answer {
    fn seq(&self) -> u64 {
        self.seq
    }
}

impl Numbered for Optimized {
    fn seq(&self) -> u64 {
        self.seq
    }
}

/// A violation of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}; {fix}{}", line_suffix(line))]
pub struct Problem {
    /// The violated rule.
    pub rule: String,
    /// The correct form.
    pub fix: String,
    /// The line, shortened if very long; empty if there is none.
    pub line: String,
}

fn line_suffix(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("; the line is: {line}") }
}

impl Problem {
    /// Creates a problem with a line.
    pub fn new(line: &[u8], rule: impl Into<String>, fix: impl Into<String>) -> Problem {
        let start = line.get(..MAX_MESSAGE).unwrap_or(line);
        let mut text = String::from_utf8_lossy(start).escape_debug().to_string().replace("\\\"", "\"");
        if start.len() < line.len() {
            text += " ...";
        }
        Problem { rule: rule.into(), fix: fix.into(), line: text }
    }
}

/// Parses a line as the expected message.
pub fn read<T: Message>(line: &[u8]) -> Result<T, Problem> {
    if serde_json::from_slice::<IgnoredAny>(line).is_err() {
        let fix = "write only answers to standard output, each complete and on one line; standard error is free";
        return Err(Problem::new(line, "the line is not JSON", fix));
    }
    deserialize_object(&mut serde_json::Deserializer::from_slice(line)).map_err(|error| {
        // A message is a single line, so its line number is omitted.
        let rule = error.to_string().replace(" at line 1 column ", ", at column ");
        Problem::new(line, rule, format!("the answer is {}", T::FORM))
    })
}

/// Deserializes a structure from an object only. By default serde also accepts a list of its fields.
pub(super) fn deserialize_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Object(PhantomData))
}

fn deserialize_present_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserialize_object(deserializer).map(Some)
}

/// Returns a warning about a valid answer that should be improved, with its remedy.
pub fn advice(answer: &Answer) -> Option<(&'static str, &'static str)> {
    const WORDS: &str = "pass on the message of the runtime, which users read and expectations match";
    match &answer.result {
        Answered::Ok => None,
        Answered::Unsupported(unsupported) if unsupported.what.parse::<MissingFeature>().is_err() => Some((
            "`what` does not name an operator, a type or a feature in a form of the protocol",
            "write `operator ai.onnx/Abs-13`, `tensor(bfloat16) in ai.onnx/Abs-13` or the like",
        )),
        Answered::Unsupported(Unsupported { message, .. }) | Answered::Error(Failure { message, .. }) => {
            message.trim().is_empty().then_some(("the message is empty", WORDS))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(line: &str) -> String {
        read::<Answer>(line.as_bytes()).unwrap_err().rule
    }

    #[test]
    fn an_answer_is_exactly_one_of_three() {
        assert_eq!(read::<Answer>(br#"{"seq":7,"ok":true}"#).unwrap(), Answer { seq: 7, result: Answered::Ok });
        assert!(rule(r#"{"seq":7}"#).starts_with("none of `ok`"));
        assert!(rule(r#"{"seq":7,"ok":false}"#).starts_with("`ok` can only be true"));
        let both = r#"{"seq":7,"ok":true,"error":{"phase":"run","message":""}}"#;
        assert!(rule(both).starts_with("more than one of"));
    }

    #[test]
    fn a_violation_is_described() {
        assert!(rule(r#"{"seq":7,"ok":true,"extra":1}"#).contains("unknown field `extra`"));
        assert!(rule(r#"{"seq":7,"ok":null}"#).contains("null"));
        assert!(rule(r#"{"seq":7,"ok":true,"ok":true}"#).contains("duplicate field `ok`"));
        assert!(rule(r#"{"ok":true}"#).contains("missing field `seq`"));
        assert_eq!(rule(r#"{"seq":7,"ok":tr"#), "the line is not JSON");
        let problem = read::<Answer>(&[0xff; 5000]).unwrap_err();
        assert!(problem.line.len() < 10_000 && problem.line.ends_with(" ..."), "{problem}");
    }
}
