//! Results of a submission: a run of the whole suite of this program, without filters, on a published version of a runtime.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::bail;
use onnx_conformance_cases::case::{CaseId, Level, TextRelease, Variant};
use onnx_conformance_cases::suite::{Filter, SUITE_VERSION, Suite, recorded_cases};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::gate_file::is_published;
use onnx_conformance_harness::run::{CaseResult, Header, Read, Selected, plan};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::cli::results_file;

/// Reads the results, and fails unless they are those of such a run.
pub(crate) fn read_whole_run(path: &Path, suite: &Suite) -> anyhow::Result<Read> {
    let place = path.display().to_string();
    let read = results_file::read(path)?;
    check_suite(&place, &read.header, suite)?;
    check_selection(&place, &read.header.selected)?;
    check_provenance(&place, &read.header)?;
    check_cases(&place, &read, suite)?;
    check_levels(&place, &read.results)?;
    Ok(read)
}

/// Fails if the cases are not those of this program.
fn check_suite(place: &str, header: &Header, suite: &Suite) -> anyhow::Result<()> {
    let version = escape::line(&header.suite);
    if header.suite != SUITE_VERSION {
        bail!(
            "{place}: is of suite {version}, but this program has suite {SUITE_VERSION}; use the program of that suite, or run the \
             cases again"
        );
    }
    let digest = suite.digest()?;
    if header.digest != digest {
        let found = escape::line(&header.digest);
        bail!(
            "{place}: is of suite {version} with other cases ({found}, not {digest}); run the project's own cases, without --specs, \
             --suite and --testdata"
        );
    }
    if let Some(text) = header.other_text() {
        bail!("{place}: was judged by the texts of ONNX {text}; run the cases again, without --text");
    }
    Ok(())
}

/// Fails if the run was about a part of the cases.
fn check_selection(place: &str, selected: &Selected) -> anyhow::Result<()> {
    if selected.variant != Variant::Runtime {
        bail!("{place}: is about the variant {}; run the cases again, without --variant", selected.variant);
    }
    let patterns: Vec<&str> = selected.filters.iter().chain(&selected.within).map(String::as_str).collect();
    if !patterns.is_empty() {
        let shown = patterns.join(" ");
        bail!(
            "{place}: covers only '{}'; run the whole suite, without filters and --release",
            escape::line(&escape::cut(&shown, 200))
        );
    }
    match selected.shard.filter(|shard| !shard.is_whole()) {
        Some(shard) => bail!("{place}: is only shard {shard}; combine all shards with `merge`"),
        None => Ok(()),
    }
}

/// Fails if nobody else could repeat the run.
fn check_provenance(place: &str, header: &Header) -> anyhow::Result<()> {
    let version = &header.runtime.version;
    if !is_published(version) {
        bail!(
            "{place}: is about version {} of {}, a build that is not published; run the cases on a release",
            escape::line(version),
            escape::line(&header.runtime.name)
        );
    }
    if header.machine.features.is_none() {
        bail!("{place}: does not name the features of the processor; run the cases again with this program");
    }
    if header.date.is_none() {
        bail!("{place}: does not name the day of the run; run the cases again with this program");
    }
    Ok(())
}

/// Fails unless exactly the cases of the suite have a result.
fn check_cases(place: &str, read: &Read, suite: &Suite) -> anyhow::Result<()> {
    let plan = plan(suite, &Filter::default(), Variant::Runtime)?;
    let wanted: BTreeSet<&str> = plan.ids().collect();
    let have: BTreeSet<&str> = read.results.iter().map(|result| result.id.as_str()).collect();
    let missing: Vec<&&str> = wanted.difference(&have).collect();
    if let Some(first) = missing.first() {
        let command =
            format!("onnx-conformance run --runtime {} --resume {place} --keep-failures", read.header.runtime.name);
        bail!(
            "{place}: {} of {} cases have no result, such as {first}; `{command}` runs them",
            missing.len(),
            wanted.len()
        );
    }
    if let Some(unknown) = have.difference(&wanted).next() {
        let unknown = escape::line(unknown);
        bail!("{place}: has a result of {unknown}, which is no case of the suite; run the cases again");
    }
    if read.header.selected.cases != wanted.len() {
        let cases = read.header.selected.cases;
        bail!("{place}: the first line names {cases} cases, but the suite has {}; run the cases again", wanted.len());
    }
    Ok(())
}

/// Fails if the level of a result is not that of its case in `records/`.
fn check_levels(place: &str, results: &[CaseResult]) -> anyhow::Result<()> {
    let text = TextRelease::newest();
    let recorded = |version: &OperatorVersion| {
        let level = recorded_cases(version).iter().map(|case| (case.id.as_str(), case.facts.level_by(text)));
        level.collect::<HashMap<&str, Level>>()
    };
    let mut versions: HashMap<OperatorVersion, HashMap<&str, Level>> = HashMap::new();
    for result in results {
        let Some(version) = CaseId::parse(&result.id).version() else { continue };
        let levels = versions.entry(version).or_insert_with_key(recorded);
        if let Some(level) = levels.get(result.id.as_str()).filter(|level| **level != result.level) {
            let id = &result.id;
            bail!("{place}: has {id} with the level {}, but it is {level}; run the cases again", result.level);
        }
    }
    Ok(())
}
