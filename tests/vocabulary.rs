//! Documents and what they describe: the keys of op.yaml, and the totals of the specs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onnx_conformance::reference::spec::{OperatorVersion, Specs};
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

/// Asserts that pages explain every word of schemas.
fn assert_explained(pages: &[&str], schemas: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut known: BTreeSet<String> = BTreeSet::new();
    for page in pages {
        let text = fs::read_to_string(root.join("docs").join(page)).unwrap();
        // Only text in backticks and in the examples counts, not prose.
        for code in text.split('`').enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, text)| text) {
            known.extend(code.split(|c| !is_word(c)).chain([code]).map(str::to_owned));
        }
    }
    let mut all = BTreeSet::new();
    for file in schemas {
        let text = fs::read_to_string(root.join("specs/schema").join(file)).unwrap();
        words(&serde_json::from_str(&text).unwrap(), &mut all);
    }
    assert!(all.len() > 60, "only {} words were read", all.len());
    let missing: Vec<&String> = all.iter().filter(|word| !known.contains(*word)).collect();
    assert!(missing.is_empty(), "{pages:?} do not explain {missing:?}");
}

#[test]
fn every_key_of_the_files_of_operators_is_explained() {
    assert_explained(&["cases.md"], &["op.json", "recipes.json"]);
}

#[test]
fn every_key_of_topics_is_explained() {
    assert_explained(&["graphs.md", "cases.md"], &["topic.json"]);
}

#[test]
fn the_readme_has_the_totals_of_the_specs() {
    let specs = Specs::embedded();
    let released: Vec<OperatorVersion> = specs.all().filter(|version| !Specs::is_next(version)).collect();
    let operators: BTreeSet<_> = released.iter().map(|version| (&version.domain, &version.name)).collect();
    let cells = |version| specs.get(version).unwrap().types.values().map(Vec::len).sum::<usize>();
    let cells = released.iter().map(cells).sum::<usize>();
    let totals = format!(
        "{} operators in {} versions, and {},{:03} combinations",
        operators.len(),
        released.len(),
        cells / 1000,
        cells % 1000
    );
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(page.contains(&totals), "write in README.md: {totals}");
}
