//! Generates `RuleId` and its table from `rules/*.yaml`: an entry there is a rule here.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

/// Groups of rules, in the order of the documentation.
const GROUPS: [&str; 13] = [
    "file", "model", "ir", "opset", "node", "value", "graph", "subgraph", "tensor", "external", "function", "training",
    "device",
];

/// Entry of a rule, as docs/check.md describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    level: Level,
    sentence: String,
    source: String,
    why: String,
    bad: Example,
    #[serde(default)]
    also: Vec<String>,
    good: String,
    fix: Fix,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
    Note,
}

/// Model that breaks the rule. Its text is a string; the other forms are for models without a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a model in ONNX's text form, {hex: 'BYTES'} or {change: TEXT}")]
enum Example {
    Text(String),
    Bytes(Bytes),
    Change(Change),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bytes {
    hex: String,
}

/// Difference from the model of `good`, which the tests of the crate apply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    change: String,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected {safe: TEXT} or {unsafe: TEXT}")]
enum Fix {
    Safe { safe: String },
    Unsafe { r#unsafe: String },
}

fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let folder = home.join("rules");
    println!("cargo::rerun-if-changed={}", folder.display());
    require_known_groups(&folder)?;
    let mut entries = Vec::new();
    let mut places = BTreeMap::new();
    for group in GROUPS {
        let path = folder.join(format!("{group}.yaml"));
        println!("cargo::rerun-if-changed={}", path.display());
        let name = format!("crates/check/rules/{group}.yaml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let list: Vec<Entry> = serde_yaml::from_str(&text).map_err(|error| {
            format!("{name}: {error}; the keys of a rule are listed in docs/check.md under 'A rule is an entry'")
        })?;
        let lines = lines_of_ids(&text);
        if lines.len() != list.len() {
            return Err(format!("{name}: begin each rule with a line '- id: {group}/NAME'").into());
        }
        for (entry, line) in list.into_iter().zip(lines) {
            let place = format!("{name}:{line}");
            validate(&entry, group).map_err(|problem| format!("{place}: {}: {problem}", entry.id))?;
            if let Some(other) = places.insert(entry.id.clone(), place.clone()) {
                return Err(format!("{place}: {} is already defined at {other}; choose another id", entry.id).into());
            }
            entries.push((entry, place));
        }
    }
    for (entry, place) in &entries {
        if let Some(unknown) = entry.also.iter().find(|id| !places.contains_key(*id)) {
            return Err(format!("{place}: {}: 'also' lists {unknown}, which is not a rule", entry.id).into());
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("rules.rs"), source(&entries)?)?;
    Ok(())
}

/// Refuses files that would not be read.
fn require_known_groups(folder: &Path) -> Result<(), Box<dyn Error>> {
    for file in fs::read_dir(folder)? {
        let name = file?.file_name().into_string().map_err(|name| format!("{} is not UTF-8", name.display()))?;
        if !name.strip_suffix(".yaml").is_some_and(|group| GROUPS.contains(&group)) {
            return Err(format!("crates/check/rules/{name}: add the group to GROUPS in crates/check/build.rs").into());
        }
    }
    Ok(())
}

/// Line numbers of the entries of a file.
fn lines_of_ids(text: &str) -> Vec<usize> {
    (1..).zip(text.lines()).filter(|(_, line)| line.starts_with("- id: ")).map(|(number, _)| number).collect()
}

fn validate(entry: &Entry, group: &str) -> Result<(), String> {
    let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
    let name = entry.id.strip_prefix(group).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(format!("an id in this file is '{group}/' and lower-case words joined by '-'"));
    }
    let fix = match &entry.fix {
        Fix::Safe { safe } => safe,
        Fix::Unsafe { r#unsafe: unsafe_edit } => unsafe_edit,
    };
    for (key, text) in [("sentence", &entry.sentence), ("why", &entry.why), ("fix", fix)] {
        if !text.ends_with('.') || text.contains('\n') {
            return Err(format!("'{key}' must be sentences on one line, ending in a full stop"));
        }
    }
    if entry.source.is_empty() {
        return Err("'source' is empty; name the section of the standard".to_owned());
    }
    if let Example::Bytes(Bytes { hex }) = &entry.bad
        && (hex.len() % 2 != 0 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err("'hex' must be pairs of hexadecimal digits".to_owned());
    }
    Ok(())
}

/// Name of the variant: `NodeAttributeType` for `node/attribute-type`.
fn variant(id: &str) -> String {
    let mut name = String::new();
    for word in id.split(['/', '-']) {
        let (first, rest) = word.split_at(usize::from(!word.is_empty()));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

/// Source text of the enum, its list, and its table.
fn source(entries: &[(Entry, String)]) -> Result<String, std::fmt::Error> {
    let mut out =
        String::from("/// Rule for models.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n");
    out.push_str("#[non_exhaustive]\npub enum RuleId {\n");
    for (entry, _) in entries {
        writeln!(out, "    /// {}\n    {},", entry.sentence, variant(&entry.id))?;
    }
    let count = entries.len();
    writeln!(out, "}}\n\nimpl RuleId {{\n    /// Every rule, in the order of the documentation.")?;
    writeln!(out, "    pub const ALL: [RuleId; {count}] = [")?;
    for (entry, _) in entries {
        writeln!(out, "        RuleId::{},", variant(&entry.id))?;
    }
    writeln!(
        out,
        "    ];\n\n    #[expect(clippy::too_many_lines, reason = \"a row per rule\")]\n    const fn definition(self) -> Definition {{\n        match self {{"
    )?;
    for (entry, place) in entries {
        let bad = match &entry.bad {
            Example::Text(text) => format!("Example::Text({:?})", text.trim_end()),
            Example::Bytes(Bytes { hex }) => format!("Example::Hex({hex:?})"),
            Example::Change(Change { change }) => format!("Example::Change({change:?})"),
        };
        let fix = match &entry.fix {
            Fix::Safe { safe } => format!("Fix::Safe({safe:?})"),
            Fix::Unsafe { r#unsafe: unsafe_edit } => format!("Fix::Unsafe({unsafe_edit:?})"),
        };
        write!(out, "            RuleId::{} => Definition {{ id: {:?}, ", variant(&entry.id), entry.id)?;
        write!(out, "level: Level::{:?}, sentence: {:?}, ", entry.level, entry.sentence)?;
        write!(out, "source: {:?}, why: {:?}, bad: {bad}, ", entry.source, entry.why)?;
        write!(out, "also: &{:?}, good: {:?}, fix: {fix}, ", entry.also, entry.good.trim_end())?;
        writeln!(out, "place: {place:?} }},")?;
    }
    out.push_str("        }\n    }\n}\n");
    Ok(out)
}
