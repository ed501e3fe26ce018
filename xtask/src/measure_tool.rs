//! Measurements of tools, as `expectations/tools/<tool>/<version>.yaml`.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_cases::suite::{Filter, Suite, is_glob};
use onnx_conformance_harness::expectations::{Expectations, KeptAnswers, WholeRun, tool_measurement};
use onnx_conformance_harness::measure::{AskedParts, EarlierAnswers, MeasuredDigests};
use onnx_conformance_harness::questions::BuiltinTools;
use onnx_conformance_harness::run::{CaseResult, Header, Shard, read_results};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_subject::{Builtin, Host as _, Question, Variant};

use crate::launched::{Launched, Release, RunOptions, is_of_this_suite, status};
use crate::{adapter_digest, workspace};

/// The questions to a tool.
struct Asking<'a> {
    options: &'a RunOptions,
    tool: &'a Launched,
    /// Patterns of the cases; empty for all.
    scope: &'a [String],
    variants: Vec<Variant>,
}

/// The cases that a tool is asked about.
enum Asked<'a> {
    /// The cases in the scope of the measurement and in this part of the suite, such as `1/4`.
    Part(&'a str),
    /// The cases in a list.
    Listed(&'a Path),
}

/// Answers of a tool.
struct Answered {
    header: Header,
    results: Vec<CaseResult>,
    /// Processor time of the answers and the judgement; `None` if it is not known.
    cpu_seconds: Option<u64>,
}

/// Measures the answers of this project's own tools.
pub(crate) fn builtin(options: &RunOptions, program: &Path) -> Result<()> {
    let is_answered = |question: Question| question != Question::Run && BuiltinTools::answers(question);
    let variants = Variant::ALL.into_iter().filter(|variant| is_answered(variant.question())).collect();
    let version = Builtin::new(Duration::ZERO).declaration().version;
    measure(&Asking { options, tool: &Launched::builtin(program), scope: &[], variants }, &version, None)
}

/// Asks a version of a tool its question.
pub(crate) fn tool(options: &RunOptions, tool: &Launched, release: &Release<'_>, question: Question) -> Result<()> {
    let (scope, variants) = (release.scope(), Variant::asking(question).collect());
    let adapter = adapter_digest::of(release.adapter, None)?;
    measure(&Asking { options, tool, scope: &scope, variants }, release.version, Some(adapter))
}

/// Asks a tool, and writes the measurement with its digests.
fn measure(asking: &Asking<'_>, version: &str, adapter: Option<String>) -> Result<()> {
    let path = workspace::root().join("expectations/tools").join(&asking.tool.name).join(format!("{version}.yaml"));
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    let all = suite.ids(&Filter::new(asking.scope)?)?;
    let ids: Vec<&str> = all.iter().map(String::as_str).collect();
    let before = if asking.options.stale { earlier(&path)? } else { None };
    let shard = match &before {
        Some(before) => before.file().shard,
        None => Some(asking.options.shard.parse()?).filter(|shard: &Shard| !shard.is_whole()),
    };
    let asked: BTreeSet<&str> =
        shard.map_or_else(|| ids.clone(), |shard| shard.part_of(ids.iter().copied())).into_iter().collect();
    let mut measured = if let Some(before) = &before {
        let Some(joined) = ask_again(asking, before, &before.parts(&ids), &asked)? else { return Ok(()) };
        joined
    } else {
        let Answered { header, results, cpu_seconds } =
            ask(asking, &asking.variants, &Asked::Part(&asking.options.shard))?;
        let run = WholeRun::new(results, Variant::Runtime);
        let mut measured = tool_measurement(&header, &run, &KeptAnswers::default());
        measured.cpu_seconds = cpu_seconds;
        measured
    };
    ensure!(
        measured.runtime == asking.tool.name && measured.version.as_deref() == Some(version),
        "{}: the adapter reports {} {}",
        asking.tool.key,
        measured.runtime,
        measured.version.as_deref().unwrap_or_default()
    );
    (measured.scope, measured.shard) = (asking.scope.to_vec(), shard);
    let kept = before.map(|before| before.file().adapter.clone());
    measured.adapter = adapter.map(|adapter| adapter_digest::joined(kept, adapter)).unwrap_or_default();
    write(&path, &measured, &MeasuredDigests::for_tool(&asked, shard.is_some()))
}

/// Reads the measurement at a path with its digests; `None` if there is none, or if it has no digests, in which case
/// all of it is stale.
fn earlier(path: &Path) -> Result<Option<EarlierAnswers>> {
    let digests = MeasuredDigests::path(path);
    if !path.exists() || !digests.exists() {
        anstream::println!(
            "{}: there is no measurement with digests, so the tool is asked about all cases",
            path.display()
        );
        return Ok(None);
    }
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    Ok(Some(EarlierAnswers::read(&path.display().to_string(), &read(path)?, Some(&read(&digests)?))?))
}

/// Sends the stale parts of the suite to a tool and, for a question that the earlier measurement does not have, all parts. Joins the
/// answers with the earlier ones; `None` if there is nothing to ask.
fn ask_again(
    asking: &Asking<'_>,
    before: &EarlierAnswers,
    parts: &AskedParts,
    asked: &BTreeSet<&str>,
) -> Result<Option<Expectations>> {
    let (known, new): (Vec<Variant>, Vec<Variant>) =
        asking.variants.iter().copied().partition(|variant| before.has_answers(*variant));
    let list = stale_list(asking, parts, asked)?.filter(|_| !known.is_empty());
    let again = list.map(|list| ask(asking, &known, &Asked::Listed(&list))).transpose()?;
    let first = if new.is_empty() { None } else { Some(ask_first(asking, &new, before)?) };
    // The time of a whole measurement.
    let mut cpu_seconds = before.file().cpu_seconds;
    if let Some(first) = &first {
        cpu_seconds = cpu_seconds.zip(first.cpu_seconds).map(|(before, first)| before + first);
    }
    let answered: Vec<Answered> = again.into_iter().chain(first).collect();
    let Some(header) = answered.first().map(|answered| answered.header.clone()) else { return Ok(None) };
    let mut results: Vec<CaseResult> = answered.into_iter().flat_map(|answered| answered.results).collect();
    for variant in known {
        let kept = asked.iter().copied().filter(|id| parts.is_unchanged(id));
        results.extend(before.kept_results(kept, variant)?);
    }
    let run = WholeRun::new(results, Variant::Runtime);
    let mut measured = tool_measurement(&header, &run, &before.kept_answers(parts));
    measured.cpu_seconds = cpu_seconds;
    // The features that both processors have.
    let both = before.file().cpu.as_ref().zip(measured.cpu.as_ref());
    measured.cpu = both.map(|(before, now)| before.intersection(now).copied().collect());
    Ok(Some(measured))
}

/// Writes the list of the cases in stale parts; `None` if no part is stale.
fn stale_list(asking: &Asking<'_>, parts: &AskedParts, asked: &BTreeSet<&str>) -> Result<Option<PathBuf>> {
    // Hostile models, which no tool gets, belong to no part.
    let stale: Vec<&str> = asked.iter().copied().filter(|id| parts.is_stale(id)).collect();
    anstream::println!(
        "{} of {} parts are stale, and the tool is asked about their {} cases",
        parts.stale.len(),
        parts.stale.len() + parts.unchanged.len(),
        stale.len()
    );
    if stale.is_empty() {
        return Ok(None);
    }
    if let Some(id) = stale.iter().find(|id| is_glob(id)) {
        anyhow::bail!("{id}: the id is a pattern, so it does not select one case");
    }
    let list = folder().join(format!("{}.stale.txt", asking.tool.key));
    fs::write(&list, stale.join("\n") + "\n").with_context(|| list.display().to_string())?;
    Ok(Some(list))
}

/// Asks a tool about the measured part of the suite in variants that the earlier measurement does not have.
fn ask_first(asking: &Asking<'_>, variants: &[Variant], before: &EarlierAnswers) -> Result<Answered> {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name()).collect();
    anstream::println!("new in the measurement, so the tool is asked about all cases: {}", names.join(", "));
    let shard = before.file().shard.map_or_else(|| "1/1".to_owned(), |shard| shard.to_string());
    ask(asking, variants, &Asked::Part(&shard))
}

/// Asks a tool in each of these variants.
fn ask(asking: &Asking<'_>, variants: &[Variant], asked: &Asked<'_>) -> Result<Answered> {
    let Asking { options, tool, scope, .. } = asking;
    let is_list = matches!(asked, Asked::Listed(_));
    let (mut header, mut all) = (None, Vec::new());
    let (begun, mut is_whole) = (cpu_seconds(), true);
    for variant in variants {
        let part = if is_list { "-stale" } else { "" };
        let results = folder().join(format!("{}-{variant}{part}.jsonl", tool.key));
        let (timeout, memory) = (options.timeout.to_string(), options.memory.to_string());
        let mut run = tool.tool(&["run", "--show", "1", "--strict", "--restarts", "20000"]);
        run.args(["--variant", variant.name(), "--timeout", &timeout, "--memory", &memory]);
        match asked {
            Asked::Listed(list) => run.arg("--from").arg(list),
            Asked::Part(shard) => run.args(["--shard", shard]).args(*scope),
        };
        // Another list may be of other cases.
        let is_begun = !is_list && results.exists() && !options.afresh && is_of_this_suite(&results)?;
        run.args(if is_begun { ["--keep-failures", "--resume"].as_slice() } else { &["--results"] }).arg(&results);
        is_whole &= !is_begun;
        if !is_begun && results.exists() {
            fs::remove_file(&results)?;
        }
        run.args(["--runtime", &tool.command, "--expectations", &tool.nothing()?]);
        let ended = status(&mut run)?;
        // A list may have no case with an answer that is known.
        let max = if is_list { 3 } else { 2 };
        let is_complete = ended.code().is_some_and(|code| (0..=max).contains(&code));
        ensure!(is_complete, "the run ended with {ended}; repeat the command to resume it");
        let file = fs::File::open(&results).with_context(|| results.display().to_string())?;
        let read = read_results(&mut BufReader::new(file))?;
        ensure!(read.is_complete(), "{}: {} cases have no result", results.display(), read.missing());
        header.get_or_insert(read.header);
        all.extend(read.results);
    }
    let header = header.context("no variant asks the question")?;
    let spent = begun.zip(cpu_seconds()).map(|(begun, ended)| ended - begun);
    Ok(Answered { header, results: all, cpu_seconds: spent.filter(|_| is_whole) })
}

/// Writes the measurement of a tool with its digests.
fn write(path: &Path, measured: &Expectations, digests: &MeasuredDigests) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let beside = MeasuredDigests::path(path);
    write_whole(path, measured.to_yaml().as_bytes()).with_context(|| path.display().to_string())?;
    write_whole(&beside, digests.to_text().as_bytes()).with_context(|| beside.display().to_string())
}

/// Returns the folder of results.
fn folder() -> PathBuf {
    workspace::target().join("measure")
}

/// Returns the processor time of the processes that this one has waited for, and of those that they waited for, in
/// seconds; `None` without /proc.
fn cpu_seconds() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain spaces. The times follow it in hundredths of a second.
    let (_, fields) = text.rsplit_once(')')?;
    let hundredths = |at: usize| fields.split_whitespace().nth(at)?.parse::<u64>().ok();
    Some((hundredths(13)? + hundredths(14)?) / 100)
}
