//! The document of cases and the format: it explains every key and name of op.yaml.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Collects the keys of objects and the names of enumerations in a JSON Schema.
fn words(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(entries) => {
            if let Some(Value::Object(properties)) = entries.get("properties") {
                found.extend(properties.keys().cloned());
            }
            let names = entries.get("enum").and_then(Value::as_array).into_iter().flatten().chain(entries.get("const"));
            found.extend(names.filter_map(Value::as_str).map(str::to_owned));
            entries.values().for_each(|value| words(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_files_of_operators_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/cases.md")).unwrap();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Only text in backticks and in the examples counts, not prose.
    let code = page.split('`').enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, text)| text);
    let known: BTreeSet<&str> = code.flat_map(|text| text.split(|c| !is_word(c))).collect();
    let mut all = BTreeSet::new();
    for file in ["op.json", "recipes.json"] {
        let text = fs::read_to_string(root.join("specs/schema").join(file)).unwrap();
        words(&serde_json::from_str(&text).unwrap(), &mut all);
    }
    assert!(all.len() > 60, "only {} words were read", all.len());
    let missing: Vec<&String> = all.iter().filter(|word| !known.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "docs/cases.md does not explain {missing:?}");
}
