//! `cargo xtask vendor`: the cases that ONNX's own Python package holds, as files under testdata.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::{python, workspace};

/// What `cargo xtask vendor` is asked to do.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The ONNX release whose cases are wanted, such as 1.23.2
    release: String,
    /// Write nothing: make the cases again and compare them with the committed ones, byte by byte
    #[arg(long)]
    check: bool,
}

/// The packages, dependencies included, that the cases of an ONNX release are made with.
struct Release {
    name: &'static str,
    packages: &'static [&'static str],
}

const RELEASES: &[Release] = &[Release {
    name: "1.23.2",
    packages: &["onnx==1.23.2", "numpy==2.4.6", "ml_dtypes==0.6.0", "protobuf==7.36.2", "typing_extensions==4.16.0"],
}];

/// The folders of a release, one for each kind of case that upstream tells apart.
const GROUPS: [&str; 5] = ["node", "simple", "light", "pytorch-operator", "pytorch-converted"];

/// Upstream's loader and collectors use these unless a case says otherwise.
const DEFAULT: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-7 };

/// numpy and the C library choose code by processor, and the last bits with it; these make every
/// x86-64 machine run the same code.
const SAME_BITS: [(&str, &str); 7] = [
    ("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
    ("OPENBLAS_CORETYPE", "Prescott"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable"),
    ("PYTHONHASHSEED", "0"),
    // No folder of the working directory stands in for a package.
    ("PYTHONSAFEPATH", "1"),
    // Cases about overflow and infinities make numpy warn; that is their point.
    ("PYTHONWARNINGS", "ignore"),
];

const SUMS: &str = "SHA256SUMS";
const SOURCE: &str = "SOURCE.md";
const TOLERANCES: &str = "tolerances.yaml";

/// Upstream's bound on a floating-point value: `|actual - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
struct Tolerance {
    rtol: f64,
    atol: f64,
}

/// tolerances.yaml: what is known of a release's cases besides their files.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Tolerances {
    release: String,
    /// How many cases each group has: fewer files than that are a corpus that has collapsed.
    cases: BTreeMap<String, usize>,
    /// The groups without stored inputs, and the rule that makes them.
    inputs: BTreeMap<String, String>,
    default: Tolerance,
    exceptions: BTreeMap<String, Tolerance>,
}

/// What vendor.py prints.
#[derive(Deserialize)]
struct Made {
    cases: Vec<MadeCase>,
}

#[derive(Deserialize)]
struct MadeCase {
    case: String,
    #[serde(flatten)]
    tolerance: Tolerance,
}

/// Writes the release's folder, or with `--check` compares it with what would be written.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let release = find_release(&arguments.release)?;
    let interpreter = python::environment("vendor", release.packages)?;
    let committed = workspace::root().join("testdata").join("onnx").join(release.name);
    if arguments.check {
        let fresh = workspace::target().join("vendor-check").join(release.name);
        make(release, &interpreter, &fresh)?;
        compare(&committed, &fresh)?;
        fs::remove_dir_all(&fresh)?;
        anstream::println!("{} is what onnx=={} gives", committed.display(), release.name);
        return Ok(());
    }
    // Beside the target, so that the rename stays within one file system.
    let fresh = committed.with_file_name(format!(".{}.new", release.name));
    let tolerances = install(release, &interpreter, &fresh, &committed).inspect_err(|_| {
        // What is left of a failed attempt; the error at hand matters more than one from cleaning up.
        let _ = fs::remove_dir_all(&fresh);
    })?;
    anstream::println!("wrote {}: {:?}", committed.display(), tolerances.cases);
    Ok(())
}

fn install(release: &Release, interpreter: &Path, fresh: &Path, committed: &Path) -> Result<Tolerances> {
    let tolerances = make(release, interpreter, fresh)?;
    refuse_a_collapse(committed, &tolerances)?;
    replace(fresh, committed)?;
    Ok(tolerances)
}

fn find_release(name: &str) -> Result<&'static Release> {
    RELEASES.iter().find(|release| release.name == name).with_context(|| {
        let known: Vec<_> = RELEASES.iter().map(|release| release.name).collect();
        format!(
            "no packages are pinned for ONNX {name}, only for {}; add a row to RELEASES in xtask/src/vendor.rs",
            known.join(", ")
        )
    })
}

/// Fills an empty folder with everything that the release's folder holds.
fn make(release: &Release, interpreter: &Path, folder: &Path) -> Result<Tolerances> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove what an earlier run left in {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let made = run_generator(interpreter, folder)?;
    let tolerances = tolerances(release, &made)?;
    count_folders(folder, &tolerances)?;
    let yaml = format!(
        "# Made by `cargo xtask vendor {}`; {SOURCE} says how.\n{}",
        release.name,
        serde_yaml::to_string(&tolerances)?
    );
    write(&folder.join(TOLERANCES), &yaml)?;
    write(&folder.join(SUMS), &checksums(folder)?)?;
    write(&folder.join(SOURCE), &source(release, &machine(interpreter)?, &tolerances))?;
    Ok(tolerances)
}

fn run_generator(interpreter: &Path, folder: &Path) -> Result<Made> {
    let output = Command::new(interpreter)
        .args(["-c", include_str!("vendor.py")])
        .arg(folder)
        .env_remove("PYTHONPATH")
        .envs(SAME_BITS)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", interpreter.display()))?;
    ensure!(output.status.success(), "xtask/src/vendor.py failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("xtask/src/vendor.py did not print the JSON it should")
}

fn tolerances(release: &Release, made: &Made) -> Result<Tolerances> {
    let mut cases: BTreeMap<String, usize> = BTreeMap::new();
    let mut exceptions = BTreeMap::new();
    for MadeCase { case, tolerance } in &made.cases {
        let (group, _) = case.split_once('/').with_context(|| format!("case {case} has no group"))?;
        *cases.entry(group.to_owned()).or_default() += 1;
        if *tolerance != DEFAULT {
            exceptions.insert(case.clone(), *tolerance);
        }
    }
    Ok(Tolerances {
        release: release.name.to_owned(),
        cases,
        inputs: BTreeMap::from([("light".to_owned(), "ramp".to_owned())]),
        default: DEFAULT,
        exceptions,
    })
}

/// Fails unless there are exactly the five groups, each with the folders it should have.
fn count_folders(folder: &Path, tolerances: &Tolerances) -> Result<()> {
    let groups: BTreeSet<&str> = tolerances.cases.keys().map(String::as_str).collect();
    ensure!(groups == BTreeSet::from(GROUPS), "the package gave the groups {groups:?}, not {GROUPS:?}");
    for (group, expected) in &tolerances.cases {
        let models = WalkDir::new(folder.join(group)).min_depth(2).max_depth(2).into_iter();
        let found = models.flatten().filter(|entry| entry.file_name() == "model.onnx").count();
        ensure!(found == *expected, "{group}: {found} models were written for {expected} cases");
    }
    Ok(())
}

/// Fails if the committed folder records more cases than were made now.
fn refuse_a_collapse(committed: &Path, fresh: &Tolerances) -> Result<()> {
    let path = committed.join(TOLERANCES);
    if !path.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let recorded: Tolerances =
        serde_yaml::from_str(&text).with_context(|| format!("{} is not readable", path.display()))?;
    for (group, count) in &recorded.cases {
        let now = fresh.cases.get(group).copied().unwrap_or(0);
        ensure!(
            now >= *count,
            "{group}: only {now} cases were made, {} records {count}; nothing was replaced",
            path.display()
        );
    }
    Ok(())
}

/// One line a file as `sha256sum` writes it, sorted by path. SOURCE.md is left out: it names the
/// Python that was used, and another one gives the same cases.
fn checksums(folder: &Path) -> Result<String> {
    let mut sums = String::new();
    for path in files(folder)? {
        if path != SOURCE && path != SUMS {
            let digest = Sha256::digest(read(&folder.join(&path))?);
            for byte in digest {
                write!(sums, "{byte:02x}")?;
            }
            writeln!(sums, "  {path}")?;
        }
    }
    Ok(sums)
}

/// The interpreter, the C library and the processor that the cases are made with.
fn machine(interpreter: &Path) -> Result<String> {
    let script =
        "import platform as p\nprint(f'Python {p.python_version()}, {\" \".join(p.libc_ver())}, {p.machine()}')";
    Ok(String::from_utf8(python::run(interpreter, script)?)?.trim().to_owned())
}

fn source(release: &Release, machine: &str, tolerances: &Tolerances) -> String {
    let packages: Vec<_> = release.packages.iter().map(|package| format!("- `{package}`")).collect();
    let mut text = include_str!("vendor_source.md")
        .replace("{release}", release.name)
        .replace("{packages}", &packages.join("\n"))
        .replace("{machine}", machine);
    for (group, count) in &tolerances.cases {
        text = text.replace(&format!("{{{group}}}"), &count.to_string());
    }
    text
}

/// Fails with the first few files that are not the same in both folders.
fn compare(committed: &Path, fresh: &Path) -> Result<()> {
    ensure!(committed.is_dir(), "{} does not exist; run this without --check", committed.display());
    let paths: BTreeSet<String> = files(committed)?.into_iter().chain(files(fresh)?).collect();
    let mut different = Vec::new();
    for path in paths.iter().filter(|path| *path != SOURCE) {
        if read_if_there(&committed.join(path))? != read_if_there(&fresh.join(path))? {
            different.push(path.as_str());
        }
    }
    if different.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = different.iter().take(10).copied().collect();
    bail!(
        "{} of {} files differ between {} and what was made now in {}:\n  {}",
        different.len(),
        paths.len(),
        committed.display(),
        fresh.display(),
        shown.join("\n  ")
    )
}

/// Puts the complete new folder in the place of the old one, which comes back if that fails.
fn replace(fresh: &Path, target: &Path) -> Result<()> {
    let aside = fresh.with_extension("old");
    if aside.exists() {
        fs::remove_dir_all(&aside).with_context(|| format!("cannot remove {}", aside.display()))?;
    }
    let had_one = target.exists();
    if had_one {
        fs::rename(target, &aside).with_context(|| format!("cannot move {} aside", target.display()))?;
    }
    if let Err(error) = fs::rename(fresh, target) {
        if had_one {
            fs::rename(&aside, target).with_context(|| format!("the old cases are now in {}", aside.display()))?;
        }
        return Err(error).with_context(|| format!("cannot move the new cases to {}", target.display()));
    }
    if had_one {
        fs::remove_dir_all(&aside).with_context(|| format!("cannot remove {}", aside.display()))?;
    }
    Ok(())
}

/// The files below a folder, as sorted paths relative to it with `/` between the names.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        if entry.file_type().is_file() {
            let names: Vec<_> = entry.path().strip_prefix(folder)?.iter().map(|name| name.to_string_lossy()).collect();
            paths.push(names.join("/"));
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    path.exists().then(|| read(path)).transpose()
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
