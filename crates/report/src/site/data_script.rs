//! Data of a page as a script, since a page opened from a file may not read other files. Repeated lines are written once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::site::intern::Interned;

/// First character of a text that consists of references to lines.
const MARK: char = '~';

/// Minimum length of a repeated line that is written once, in bytes.
const MIN_LINE: usize = 7;

/// Approximate length of a reference and of an entry in the list of lines, in bytes.
const REFERENCE: usize = 8;

/// Digits of a reference: `parseInt(reference, 36)` in the script reads it.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Beginning of a script, before the name of the data.
const HEAD: &str = "\"use strict\";\nsite.loaded(";

/// End of a script, after the data and their lines.
const TAIL: &str = ");\n";

/// Returns the script that loads data under a name.
///
/// `{"a": "one line\nof two", "b": "one line"}` becomes `{"a": "~0 1", "b": "~0"}` and the lines `["one line", "of two"]`.
pub(crate) fn data_script(name: &str, data: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut data = serde_json::to_value(data)?;
    let mut lines = repeated_lines(&data);
    pack(&mut data, &mut lines);
    let (name, data, lines) = (Value::from(name), in_script(&data), lines.into_texts());
    let lines = if lines.is_empty() { String::new() } else { format!(", {}", in_script(&Value::from(lines))) };
    Ok(format!("{HEAD}{name}, {data}{lines}{TAIL}"))
}

/// Reads the data of a script as `site.loaded` in the pages does; `None` for a text that the site does not write.
pub fn read_data_script(script: &str) -> Option<Value> {
    let arguments = script.strip_prefix(HEAD)?.strip_suffix(TAIL)?;
    let arguments: Vec<Value> = serde_json::from_str(&format!("[{arguments}]")).ok()?;
    let (data, lines) = match arguments.as_slice() {
        [_, data] => (data, [].as_slice()),
        [_, data, lines] => (data, lines.as_array()?.as_slice()),
        _ => return None,
    };
    unpack(data, lines)
}

/// Replaces references by the lines: `~0 1z` is the lines 0 and 71.
fn unpack(data: &Value, lines: &[Value]) -> Option<Value> {
    let line = |reference: &str| lines.get(usize::from_str_radix(reference, 36).ok()?)?.as_str();
    match data {
        Value::String(text) => {
            let Some(references) = text.strip_prefix(MARK) else { return Some(data.clone()) };
            let lines: Option<Vec<&str>> = references.split(' ').map(line).collect();
            lines.map(|lines| Value::from(lines.join("\n")))
        }
        Value::Array(items) => items.iter().map(|item| unpack(item, lines)).collect::<Option<_>>().map(Value::Array),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| Some((name.clone(), unpack(field, lines)?)));
            fields.collect::<Option<_>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(data.clone()),
    }
}

/// Returns the lines that occur more than once. The most frequent ones come first, since they have the shortest references.
fn repeated_lines(data: &Value) -> Interned {
    let mut counts = BTreeMap::new();
    count(data, &mut counts);
    let mut repeated: Vec<(&str, usize)> =
        counts.into_iter().filter(|(line, count)| *count > 1 && line.len() >= MIN_LINE).collect();
    repeated.sort_by_key(|(line, count)| (Reverse(*count), *line));
    let mut lines = Interned::default();
    for (line, _) in repeated {
        lines.position(line.to_owned());
    }
    lines
}

fn count<'a>(data: &'a Value, counts: &mut BTreeMap<&'a str, usize>) {
    match data {
        Value::String(text) => text.split('\n').for_each(|line| *counts.entry(line).or_default() += 1),
        Value::Array(items) => items.iter().for_each(|item| count(item, counts)),
        Value::Object(fields) => fields.values().for_each(|field| count(field, counts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces texts by references wherever that is shorter.
fn pack(data: &mut Value, lines: &mut Interned) {
    match data {
        Value::String(text) => {
            if let Some(references) = references(text, lines) {
                *text = references;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| pack(item, lines)),
        Value::Object(fields) => fields.values_mut().for_each(|field| pack(field, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns references to the lines of a text; `None` if the text itself is shorter. A text that looks like references is always replaced.
fn references(text: &str, lines: &mut Interned) -> Option<String> {
    let count = text.split('\n').count();
    let repeated = text.split('\n').filter(|line| line.len() >= MIN_LINE && lines.contains(line));
    let saved: usize = repeated.map(str::len).sum();
    let cost = if count > 1 { count * REFERENCE } else { 0 };
    if saved <= cost && !text.starts_with(MARK) {
        return None;
    }
    let references: Vec<String> = text.split('\n').map(|line| base_36(lines.position(line.to_owned()))).collect();
    Some(format!("{MARK}{}", references.join(" ")))
}

/// Formats a number to base 36: 71 is `1z`.
fn base_36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(DIGITS.get(number % DIGITS.len()).map(|digit| char::from(*digit)));
        number /= DIGITS.len();
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

/// Formats JSON that is also a JavaScript expression and cannot end a script element.
fn in_script(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_repeated_line_is_written_once() {
        let data = json!({
            "a": "model of IR version 7, opset ai.onnx 13\n\nfirst",
            "b": ["model of IR version 7, opset ai.onnx 13\n\nsecond", "/T=float16", {"c": "/T=float16"}],
        });
        let script = data_script("op/a", &data).unwrap();
        assert_eq!(script.matches("model of IR").count(), 1, "{script}");
        assert_eq!(script.matches("/T=float16").count(), 1, "{script}");
        assert!(script.starts_with("\"use strict\";\nsite.loaded(\"op/a\", {\"a\":\"~"), "{script}");
        assert_eq!(read_data_script(&script), Some(data));
    }

    #[test]
    fn data_without_repeated_lines_is_written_as_it_is() {
        let data = json!({"a": ["short", "short", 1, null, true], "b": "one line\nanother line"});
        let script = data_script("a", &data).unwrap();
        assert_eq!(script, format!("\"use strict\";\nsite.loaded(\"a\", {data});\n"));
    }

    #[test]
    fn any_text_is_read_as_it_was() {
        let lines: Vec<String> = (0..100).map(|at| format!("line number {at}")).collect();
        let data = json!([
            "~",
            "~0",
            "~~",
            "~a\n~b",
            "",
            "\n",
            "a repeated line",
            "a repeated line\n",
            "\na repeated line",
            "</script><script>",
            "\u{2028}\u{2029}",
            "a repeated line\r\nü",
            lines.join("\n"),
            lines,
        ]);
        let script = data_script("a", &data).unwrap();
        assert_eq!(read_data_script(&script), Some(data));
        assert!(!script.contains("</script") && !script.contains(['\u{2028}', '\u{2029}']), "{script}");
    }

    #[test]
    fn a_text_that_is_no_script_of_data_is_not_read() {
        let script = |arguments: &str| format!("{HEAD}{arguments}{TAIL}");
        assert_eq!(read_data_script(&script(r#""a", "~0", ["line"]"#)), Some(json!("line")));
        for arguments in [r#""a""#, r#""a", "~1", ["line"]"#, r#""a", "~x", ["line"]"#, r#""a", "~0""#, r#""a", {"#] {
            assert_eq!(read_data_script(&script(arguments)), None, "{arguments}");
        }
        assert_eq!(read_data_script("[1]"), None);
    }

    #[test]
    fn references_are_read_by_parse_int() {
        for number in [0, 1, 35, 36, 71, 1295, 1296, 123_456] {
            assert_eq!(usize::from_str_radix(&base_36(number), 36), Ok(number));
        }
        assert_eq!((base_36(10).as_str(), base_36(71).as_str()), ("a", "1z"));
    }
}
