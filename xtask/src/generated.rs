//! `cargo xtask gen`: generates files from the code, and checks that none is stale.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use onnx_conformance_cases::generate::{OperatorFile, RecipesFile, TopicFile, TypesFile};
use onnx_conformance_cases::suite::{OperatorRecord, WrappedCases, record_of_others, records};
use onnx_conformance_check::RuleId;
use onnx_conformance_harness::measure::{MeasuredDigests, Measurements, UNCHANGED, UnchangedLine, updated_lines};
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Releases, Specs};
use onnx_conformance_report::checkers::PATH as CHECKERS;
use onnx_conformance_report::coverage::coverage_record;
use onnx_conformance_report::{graph_faults, known_graphs};
use onnx_conformance_subject::AdapterFile;
use onnx_conformance_subject::message::{self, Answer, Started};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::texts::errata;
use crate::{checkers, exporters, packed_readme, proto, tools, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing, and fail if a file is stale.
    #[arg(long)]
    check: bool,

    /// Do not run the task again after records were written
    #[arg(long, hide = true)]
    once: bool,
}

/// A generated file. Its text names `cargo xtask gen` in line 1 or, in JSON, under `$comment`.
struct Generated {
    path: &'static str,
    text: fn() -> Result<String>,
}

/// First line of the file of unchanged cases.
const UNCHANGED_HEAD: &str = "# Written by `cargo xtask gen`: operator version, the digests of its cases when measured and now, \
                              and the cases that are new or changed since; do not edit.\n";

/// Folder of the records of cases.
const RECORDS: &str = "records";

/// Page of traps, which contains a generated table.
const TRAPS: &str = "docs/traps.md";

/// Page of check, which contains a generated table of its rules.
const CHECK: &str = "docs/check.md";

/// Page of graphs, which contains a generated table of faults.
const GRAPHS: &str = "docs/graphs.md";

/// First lines of the table of rules.
const RULES_HEAD: &str = "| rule | level | meaning | source |\n|---|---|---|---|\n";

const FILES: &[Generated] = &[
    Generated { path: "crates/reference/src/proto/onnx.rs", text: messages },
    Generated { path: "docs/schema/adapter.json", text: json_schema::<AdapterFile> },
    Generated { path: "docs/schema/protocol/answer.json", text: json_schema::<Answer> },
    Generated { path: "docs/schema/protocol/command.json", text: json_schema::<message::Command> },
    Generated { path: "docs/schema/protocol/optimized.json", text: json_schema::<message::Optimized> },
    Generated { path: "docs/schema/protocol/started.json", text: json_schema::<Started> },
    Generated { path: "docs/matrix.svg", text: matrix },
    Generated { path: CHECK, text: check },
    Generated { path: TRAPS, text: traps },
    Generated { path: GRAPHS, text: faults_of_graphs },
    Generated { path: tools::PAGE, text: tools::page },
    Generated { path: CHECKERS, text: checkers::file },
    Generated { path: packed_readme::PATH, text: packed_readme::page },
    Generated { path: known_graphs::PATH, text: graphs },
    Generated { path: "docs/errata.md", text: errata::page },
    Generated { path: "docs/versions.md", text: changes },
    Generated { path: "records/others.txt", text: others },
    Generated { path: "records/coverage.txt", text: coverage },
    Generated { path: "specs/schema/op.json", text: json_schema::<OperatorFile> },
    Generated { path: "specs/schema/version.json", text: json_schema::<OpSpec> },
    Generated { path: "specs/schema/recipes.json", text: json_schema::<RecipesFile> },
    Generated { path: "specs/schema/releases.json", text: json_schema::<Releases> },
    Generated { path: "specs/schema/topic.json", text: json_schema::<TopicFile> },
    Generated { path: "specs/schema/types.json", text: json_schema::<TypesFile> },
];

/// Results of runtimes for the operators of an opset that all of them accept.
fn matrix() -> Result<String> {
    Ok(onnx_conformance_report::picture::page(21, "cargo xtask gen")?)
}

/// Graphs that measured runtimes get wrong.
fn graphs() -> Result<String> {
    Ok(known_graphs::page("cargo xtask gen")?)
}

/// Changes between adjacent versions.
fn changes() -> Result<String> {
    Ok(onnx_conformance_report::version_history::page(Specs::embedded(), "cargo xtask gen")?)
}

/// Digests of the cases of no operator.
fn others() -> Result<String> {
    Ok(record_of_others()?)
}

/// Coverage of the cases of each group.
fn coverage() -> Result<String> {
    Ok(coverage_record()?)
}

/// The page of traps with a new table.
fn traps() -> Result<String> {
    let page = fs::read_to_string(workspace::root().join(TRAPS)).with_context(|| format!("cannot read {TRAPS}"))?;
    let page = onnx_conformance_report::traps::page(&page, Specs::embedded())?;
    page.with_context(|| format!("{TRAPS} has no table of traps"))
}

/// The page of graphs with a new table of faults.
fn faults_of_graphs() -> Result<String> {
    let page = fs::read_to_string(workspace::root().join(GRAPHS)).with_context(|| format!("cannot read {GRAPHS}"))?;
    graph_faults::page(&page)?.with_context(|| format!("{GRAPHS} has no table of faults"))
}

/// The page of check with a new table of rules.
fn check() -> Result<String> {
    let page = fs::read_to_string(workspace::root().join(CHECK)).with_context(|| format!("cannot read {CHECK}"))?;
    let (before, rest) = page.split_once(RULES_HEAD).with_context(|| format!("{CHECK} has no table of rules"))?;
    let rest: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    let row =
        |rule: &RuleId| format!("| `{}` | {} | {} | {} |\n", rule.id(), rule.level(), rule.sentence(), rule.source());
    let rows: String = RuleId::ALL.iter().map(row).collect();
    let page = format!("{before}{RULES_HEAD}{rows}{rest}");
    let head = exporters::HEAD;
    let (before, rest) = page.split_once(head).with_context(|| format!("{CHECK} has no table of exporters' models"))?;
    let rest: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    Ok(format!("{before}{head}{}{rest}", exporters::rows()?))
}

/// Returns the paths of the generated files.
pub(crate) fn paths() -> impl Iterator<Item = String> {
    let records = Specs::embedded().domains().flat_map(|domain| {
        Specs::embedded().operators(domain).map(move |operator| format!("{RECORDS}/{domain}/{operator}.txt"))
    });
    let records = records.filter(|path| workspace::root().join(path).exists());
    FILES.iter().map(|file| file.path.to_owned()).chain(records).chain([WrappedCases::RECORD.to_owned()])
}

/// Writes every stale file, or with `check` fails if there is one. Pages are written before the records, which need every op.yaml.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure!(
        !cfg!(feature = "next"),
        "generated files are of the newest release; run `cargo xtask gen`, without the feature `next`"
    );
    let pages = stale()?;
    if !arguments.check {
        write(&pages)?;
    }
    let records = stale_among(records()?);
    let mut files = stale_among(vec![(UNCHANGED.to_owned(), unchanged(&records)?)]);
    let has_records = !records.is_empty();
    files.extend(records);
    let unused_exclusions = needless_records()?;
    if arguments.check {
        return fail_if_stale(pages.iter().chain(&files).map(|(path, _)| path).chain(&unused_exclusions));
    }
    for path in unused_exclusions {
        fs::remove_file(workspace::root().join(&path)).with_context(|| format!("cannot remove {path}"))?;
        anstream::println!("removed {path}");
    }
    write(&files)?;
    if has_records && !arguments.once {
        // Pages are made from the embedded records.
        let again = Command::new("cargo").args(["xtask", "gen", "--once"]).current_dir(workspace::root()).status()?;
        ensure!(
            again.success(),
            "the records are written, but pages that show them may be stale; run `cargo xtask gen` again"
        );
    }
    Ok(())
}

fn write(files: &[(String, String)]) -> Result<()> {
    for (path, text) in files {
        let path = workspace::root().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        anstream::println!("wrote {}", path.display());
    }
    Ok(())
}

/// Returns `records/unchanged.txt` after these records replace those in the tree. It lists what has changed since each
/// measurement.
fn unchanged(records: &[(String, String)]) -> Result<String> {
    let mut new = Vec::new();
    for (path, text) in records {
        let old = fs::read_to_string(workspace::root().join(path)).unwrap_or_default();
        let (Some(old), Some(after)) = (OperatorRecord::parse(&old), OperatorRecord::parse(text)) else { continue };
        let operator = path.trim_start_matches(&format!("{RECORDS}/")).trim_end_matches(".txt");
        let (domain, name) = operator.split_once('/').with_context(|| format!("{path} is in no domain"))?;
        for (since, record) in &after.versions {
            let before = old.versions.get(since).filter(|before| before.digest != record.digest);
            let version = OperatorVersion::new(domain, name, *since);
            new.extend(before.map(|before| UnchangedLine::between(&version, before, record)));
        }
    }
    let known = fs::read_to_string(workspace::root().join(UNCHANGED)).unwrap_or_default();
    let known = known.lines().filter_map(UnchangedLine::parse).collect();
    let lines = updated_lines(known, &new, &measured_states()?);
    Ok(std::iter::once(UNCHANGED_HEAD.to_owned()).chain(lines.iter().map(|line| line.to_text() + "\n")).collect())
}

/// Returns the states of operator versions that were measured, as digests.
fn measured_states() -> Result<BTreeSet<(OperatorVersion, String)>> {
    let mut states = BTreeSet::new();
    let [whole, at_levels] = [Measurements::embedded(), Measurements::at_levels()].map(Measurements::runtimes);
    for (runtime, versions) in whole.into_iter().chain(at_levels) {
        for version in versions {
            let path = workspace::root().join(format!("expectations/{runtime}/{version}.yaml"));
            let path = MeasuredDigests::path(&path);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let digests = MeasuredDigests::parse(&text);
            states.extend(digests.versions().map(|(version, digest)| (version.clone(), digest.to_owned())));
        }
    }
    Ok(states)
}

/// Returns every stale file except the records of cases, which take longer to generate.
fn stale() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for file in FILES {
        let text = (file.text)().with_context(|| format!("cannot generate {}", file.path))?;
        files.push((file.path.to_owned(), text));
    }
    Ok(stale_among(files))
}

/// Returns the files whose content differs from the given text.
fn stale_among(mut files: Vec<(String, String)>) -> Vec<(String, String)> {
    files.retain(|(path, text)| fs::read_to_string(workspace::root().join(path)).ok().as_ref() != Some(text));
    files
}

/// Returns the records of operators without op.yaml.
fn needless_records() -> Result<Vec<String>> {
    let mut unused_exclusions = Vec::new();
    for domain in fs::read_dir(workspace::root().join(RECORDS))? {
        let domain = domain?;
        // The counts of conversions and the wrapped cases are next to the domain folders.
        if !domain.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(domain.path())? {
            let file = file?.path();
            let operator = file.with_extension("");
            let operator = operator.strip_prefix(workspace::root().join(RECORDS))?;
            if !workspace::root().join("specs").join(operator).join("op.yaml").exists() {
                unused_exclusions.push(file.strip_prefix(workspace::root())?.display().to_string());
            }
        }
    }
    Ok(unused_exclusions)
}

fn fail_if_stale<'a>(paths: impl Iterator<Item = &'a String>) -> Result<()> {
    let paths: Vec<&str> = paths.map(String::as_str).collect();
    if paths.is_empty() {
        return Ok(());
    }
    bail!("stale: {}; run `cargo xtask gen`", paths.join(", "))
}

/// Generates the ONNX messages.
fn messages() -> Result<String> {
    let code = proto::generate(workspace::root())?;
    let header = "// @generated by `cargo xtask gen` from proto/onnx.proto.";
    Ok(code.replacen("// This file is @generated by prost-build.", header, 1))
}

/// Generates the JSON Schema of a YAML format or a message, for editors and external validators.
fn json_schema<T: schemars::JsonSchema>() -> Result<String> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let comment = Value::from("Generated by `cargo xtask gen` from the Rust types; do not edit.");
    let mut object = Map::from_iter([("$comment".to_owned(), comment)]);
    object.extend(schema.to_value().as_object().cloned().unwrap_or_default());
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::stale_records;

    #[test]
    fn no_generated_file_is_stale() {
        fail_if_stale(stale().unwrap().iter().map(|(path, _)| path)).unwrap();
    }

    /// The content of the records is checked by tests/suite, which makes the cases.
    #[test]
    fn no_record_is_of_another_op_yaml() {
        fail_if_stale(stale_records().iter()).unwrap();
    }
}
