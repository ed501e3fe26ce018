//! JSON formats of the commands: the version that each begins with.

use serde::Serialize;
use serde_json::{Result, Value};

/// Version of the JSON formats. `docs/json.md` states the changes that raise it.
pub const FORMAT: u32 = 1;

/// Formats a value as JSON. An object begins with the version of its format.
pub fn versioned_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(&match serde_json::to_value(value)? {
        Value::Object(fields) => [("format".to_owned(), FORMAT.into())].into_iter().chain(fields).collect(),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_begins_with_its_version() {
        let text = versioned_json(&serde_json::json!({"b": 1, "a": 2.5})).unwrap();
        assert_eq!(text, "{\n  \"format\": 1,\n  \"b\": 1,\n  \"a\": 2.5\n}");
        assert_eq!(versioned_json(&["a"]).unwrap(), "[\n  \"a\"\n]");
    }
}
