//! `cargo xtask measure`: measures a version of a runtime, as `expectations/<runtime>/<version>.yaml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_harness::expectations::{Expectations, with_adapter};
use onnx_conformance_harness::run::{ProcessorFeature, feature_list};
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_subject::{Builtin, CiCases};

use crate::adapters::VersionsFile;
use crate::launched::{LEVEL, Launched, Release, RunOptions, is_of_this_suite, status};
use crate::{adapter_digest, measure_tool, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runtimes, each with a version from adapters/<runtime>/versions.yaml, or without for all its versions: onnxruntime@1.20.1,
    /// tract. At a level of the optimizer, graphs are measured: onnxruntime:level=basic@1.32.0. A tool is asked its question about
    /// every case: onnxslim, onnx-checker:mode=full@1.23.2
    #[arg(required = true, value_name = "RUNTIME[:OPTION=VALUE][@VERSION]")]
    runtimes: Vec<String>,

    #[command(flatten)]
    options: RunOptions,
}

/// Splits the name of a runtime or tool from its option: `onnxruntime:level=basic`, `onnx-checker:mode=full`.
fn split_option(runtime: &str) -> Result<(&str, Option<(&str, &str)>)> {
    let Some((adapter, option)) = runtime.split_once(':') else { return Ok((runtime, None)) };
    let option = option.split_once('=').with_context(|| {
        format!("'{runtime}': only options are measured, such as a level of the optimizer: {adapter}:level=basic")
    })?;
    Ok((adapter, Some(option)))
}

/// Measures each version, and continues after a failure.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let program = program()?;
    let mut failed = Vec::new();
    for runtime in &arguments.runtimes {
        let (name, version) =
            runtime.split_once('@').map_or((runtime.as_str(), None), |(name, version)| (name, Some(version)));
        if name == Builtin::NAME {
            measure_tool::builtin(&arguments.options, &program)?;
            continue;
        }
        let (adapter, option) = split_option(name)?;
        let versions = VersionsFile::read(adapter)?;
        if let Some((LEVEL, level)) = option {
            versions.check_level(adapter, level)?;
        }
        for version in versions.chosen(adapter, version)? {
            let release = Release { adapter, version, option, versions: &versions };
            let key = release.key();
            anstream::println!("== {key}");
            if let Err(error) = measure(&arguments.options, &program, &release) {
                anstream::eprintln!("error: {key}: {error:#}");
                failed.push(key);
            }
        }
    }
    ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}

/// Returns a copy of the program, built once from the current sources. The program embeds the measurements, so each written file
/// would cause a rebuild.
fn program() -> Result<PathBuf> {
    let folder = workspace::target().join("measure");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut build = Command::new("cargo");
    let ended = status(build.args(["build", "--quiet"]).current_dir(workspace::root()))?;
    ensure!(ended.success(), "the program does not build: {ended}");
    let name = format!("onnx-conformance{}", std::env::consts::EXE_SUFFIX);
    let (built, copy) = (workspace::target().join("debug").join(&name), folder.join(&name));
    // A running executable cannot be overwritten, only replaced. Another measurement may start at the same time.
    let new = copy.with_extension(format!("{}.new", std::process::id()));
    fs::copy(&built, &new).with_context(|| format!("cannot copy {} to {}", built.display(), new.display()))?;
    fs::rename(&new, &copy).with_context(|| format!("cannot move {} to {}", new.display(), copy.display()))?;
    Ok(copy)
}

/// Runs the suite on a version, resuming an interrupted run, and writes the file.
fn measure(options: &RunOptions, program: &Path, release: &Release<'_>) -> Result<()> {
    let Release { adapter, version, versions, .. } = *release;
    let runtime = Launched::new(program, release)?;
    if let Some(question) = runtime.asks {
        return measure_tool::tool(options, &runtime, release, question);
    }
    let measured = workspace::root().join("expectations").join(release.name()).join(format!("{version}.yaml"));
    let before = if measured.exists() { Some(read(&measured)?) } else { None };
    // A measurement of a part of the suite is repeated on the same part.
    let scope = before.as_ref().map_or_else(|| release.scope(), |before| before.scope.clone());
    if options.stale {
        check_processor(release, before.as_ref())?;
    }
    let adapter = adapter_digest::of(adapter, versions.manifest.as_deref())?;
    let kept = before.filter(|_| options.stale).map(|before| before.adapter);
    let adapters = adapter_digest::joined(kept, adapter);
    if let [.., earlier, _] = adapters.as_slice() {
        anstream::println!("the outcomes of unchanged cases were measured through another adapter: {earlier}");
    }
    let results = workspace::target().join("measure").join(format!("{}.jsonl", release.key()));
    if results.exists() && (options.afresh || !is_of_this_suite(&results)?) {
        anstream::println!("{}: the old results are discarded, and all cases are run again", results.display());
        fs::remove_file(&results)?;
    }
    let (timeout, memory) = (options.timeout.to_string(), options.memory.to_string());
    let mut run = runtime.tool(&[
        "run",
        "--show",
        "1",
        "--strict",
        "--rewrites",
        "--restarts",
        "20000",
        "--timeout",
        &timeout,
        "--memory",
        &memory,
    ]);
    if results.exists() {
        run.arg("--keep-failures").arg("--resume");
    } else {
        run.args(options.stale.then_some("--stale")).arg("--results");
    }
    run.arg(&results);
    run.args(["--runtime", &runtime.command]).args(["--expectations", &runtime.nothing()?]).args(&scope);
    let ended = status(&mut run)?;
    // Failing cases are the content of a measurement, not an error.
    ensure!(matches!(ended.code(), Some(0..=2)), "the run ended with {ended}; repeat the command to resume it");
    let mut init = runtime.tool(&["run", "--init", "--exact", "--strict", "--update-expectations", "--from-results"]);
    init.arg(&results).args(&scope);
    let ended = status(&mut init)?;
    ensure!(ended.success(), "the file was not written: {ended}");
    ensure!(
        measured.exists(),
        "{} was not written: the adapter reports another version of the runtime",
        measured.display()
    );
    let text = fs::read_to_string(&measured).with_context(|| measured.display().to_string())?;
    fs::write(&measured, with_adapter(&text, &adapters)).with_context(|| measured.display().to_string())
}

/// Returns an error if earlier outcomes were measured on a processor with other features, and CI compares this runtime with its
/// measurement only on the measured processor. Outcomes of two processors in one file would hold on neither.
fn check_processor(release: &Release<'_>, before: Option<&Expectations>) -> Result<()> {
    let Some(measured) = before.and_then(|before| before.cpu.as_ref()) else { return Ok(()) };
    let here = ProcessorFeature::here();
    let depends = Runtimes::embedded()?.all().any(|(name, file)| name == release.adapter && file.ci == CiCases::Part)
        && release.versions.manifest.is_none();
    ensure!(
        !depends || *measured == here,
        "{} was measured on a processor with {}, and this one has {}. Its results depend on them: omit --stale to measure all cases \
         here, or measure on such a processor",
        release.key(),
        feature_list(measured),
        feature_list(&here)
    );
    Ok(())
}

/// Reads a measurement.
fn read(measured: &Path) -> Result<Expectations> {
    let text = fs::read_to_string(measured).with_context(|| measured.display().to_string())?;
    Ok(Expectations::parse(&measured.display().to_string(), &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launched::GRAPHS;

    #[test]
    fn outcomes_of_two_processors_are_not_joined_where_they_differ() {
        let here = ProcessorFeature::here();
        let measured = |cpu: &str| {
            let text = format!("runtime: a\nversion: '1'\n{cpu}expect: []\n");
            Expectations::parse("a.yaml", &text).unwrap()
        };
        let (other, same) = (measured("cpu: []\n"), measured(&format!("cpu: [{}]\n", feature_list(&here))));
        let check = |adapter, before: Option<&Expectations>| {
            let versions = VersionsFile::read(adapter).unwrap();
            check_processor(&Release { adapter, version: "1", option: None, versions: &versions }, before)
        };
        assert!(check("openvino", None).is_ok() && check("openvino", Some(&measured(""))).is_ok());
        assert!(check("openvino", Some(&same)).is_ok());
        assert!(check("onnxruntime", Some(&other)).is_ok());
        if !here.is_empty() {
            assert!(check("openvino", Some(&other)).unwrap_err().to_string().contains("omit --stale"));
        }
    }

    #[test]
    fn a_level_has_a_measurement_of_its_own() {
        let versions = VersionsFile::read("onnxruntime").unwrap();
        let release = |option| Release { adapter: "onnxruntime", version: "1.2", option, versions: &versions };
        assert_eq!(release(Some((LEVEL, "basic"))).key(), "onnxruntime-basic@1.2");
        assert_eq!(release(Some((LEVEL, "basic"))).installed(), "onnxruntime@1.2");
        assert_eq!(release(Some((LEVEL, "basic"))).scope(), [GRAPHS]);
        assert_eq!((release(None).key(), release(None).scope()), ("onnxruntime@1.2".to_owned(), Vec::new()));
        assert_eq!(split_option("onnxruntime:level=basic").unwrap(), ("onnxruntime", Some((LEVEL, "basic"))));
        assert_eq!(split_option("tract").unwrap(), ("tract", None));
        assert!(split_option("onnxruntime:cuda").unwrap_err().to_string().contains("onnxruntime:level=basic"));
        let refused = |level| versions.check_level("onnxruntime", level).unwrap_err().to_string();
        assert!(refused("all").ends_with("`onnxruntime` without a level is at this one"), "{}", refused("all"));
        assert!(refused("none").contains("no level none, only disabled, basic"), "{}", refused("none"));
    }
}
