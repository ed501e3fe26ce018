//! Options shared by several subcommands.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use onnx_conformance_cases::case::{TextRelease, Variant, lines, read_lines, read_text};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Filter, Generated, Profile, Releases, Suite, later_texts, read_operators};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_harness::gate_file::SuiteOrigin;
use onnx_conformance_harness::shell::word;

use crate::cli::operator_name::OperatorName;
use crate::cli::print;
use crate::cli::usage::{Nothing, Usage, ValueError};

/// Maximum size of a list of filters in bytes.
const MAX_LIST: usize = 64 << 20;

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people
    #[default]
    Text,
    /// For programs, as JSON
    Json,
}

/// Selection of cases.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Globs over case ids, such as 'onnx-1.23.2/node/test_sum*' or 'ai.onnx/Sum-*/**', or operators, such as Sum or Sum@13; a
    /// leading ! excludes
    #[arg(value_name = "FILTER", help_heading = None::<&'static str>)]
    filters: Vec<String>,

    /// Read more filters from this file, or from standard input for -, one per line. Blank lines and lines that begin with # are
    /// skipped
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Select from the tests of this ONNX release, such as 1.7.0, or 1.8 for 1.8.0 and 1.8.1
    #[arg(long, value_name = "RELEASE")]
    release: Vec<String>,

    #[command(flatten)]
    profile: ProfileOption,

    #[command(flatten)]
    pub(crate) sources: Sources,
}

/// Profile that restricts the selected cases.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProfileOption {
    /// Select only cases of this profile: values (200 cases, is the binding right?), pr (about 6,000, for each change), float or full.
    /// The filter @NAME does the same
    #[arg(long, value_name = "NAME", value_parser = parse_profile, conflicts_with = "suite")]
    profile: Option<Profile>,
}

/// Parses the name of a profile. The error is about a name, not about a pattern.
pub(crate) fn parse_profile(name: &str) -> Result<Profile, String> {
    Profile::named(name.strip_prefix('@').unwrap_or(name)).map_err(|error| error.reason)
}

impl ProfileOption {
    /// Adds the filter of the profile to others, unless they have it.
    pub(crate) fn add_to(self, patterns: &mut Vec<String>) {
        let pattern = self.profile.map(Profile::pattern).filter(|pattern| !patterns.contains(pattern));
        patterns.extend(pattern);
    }
}

/// Sources of cases.
#[derive(Debug, Default, Args)]
pub(crate) struct Sources {
    /// Read the cases from a folder of ordinary ONNX test folders, or from a folder or file that `export` wrote, instead of the
    /// project's cases
    #[arg(long, value_name = "PATH")]
    pub(crate) suite: Option<PathBuf>,

    /// Generate the cases from the op.yaml files below this folder instead of the embedded ones
    #[arg(long, value_name = "DIR", conflicts_with = "suite")]
    pub(crate) specs: Option<PathBuf>,

    /// Read the tests of ONNX's releases and the data of models from this folder, `testdata` of a checkout, instead of the
    /// embedded ones
    #[arg(long, value_name = "DIR", env = "ONNX_CONFORMANCE_TESTDATA")]
    pub(crate) testdata: Option<PathBuf>,
}

/// Texts of the standard that decide the levels of cases.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TextOptions {
    /// Judge by the texts of this ONNX release, such as 1.18.0, or of a later one. A case that only other texts decide is open
    /// [default: the release that the suite is made for]
    #[arg(long, value_name = "RELEASE", value_parser = TextRelease::known, conflicts_with = "suite")]
    text: Option<TextRelease>,
}

impl TextOptions {
    /// Returns the release whose texts decide.
    pub(crate) fn release(self) -> TextRelease {
        self.text.unwrap_or_else(TextRelease::newest)
    }

    /// Returns the release whose texts decide, if it is not the suite's.
    pub(crate) fn other(self) -> Option<TextRelease> {
        self.text.and_then(TextRelease::if_other)
    }

    /// Prints which later texts the suite knows, if they are selected.
    pub(crate) fn note_later(self) {
        let newest = TextRelease::newest();
        let Some(text) = self.text.filter(|text| *text > newest) else { return };
        let known: Vec<String> =
            later_texts().into_iter().filter(|known| *known <= text).map(|known| known.to_string()).collect();
        let cases = if known.is_empty() { "none".to_owned() } else { format!("those of {}", known.join(", ")) };
        print::note(&format!(
            "ONNX {text} is later than {newest}, which the suite is made for; of the cases that later texts decide, it knows {cases}"
        ));
    }
}

impl Selection {
    /// Opens the selected suite.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        self.sources.open()
    }

    /// Returns the op.yaml files of the cases from specs.
    pub(crate) fn operators(&self) -> anyhow::Result<OperatorCatalog> {
        self.sources.operators()
    }

    /// Returns the patterns of the command line, and those in the file of `--from`.
    pub(crate) fn patterns(&self) -> anyhow::Result<Vec<String>> {
        let mut patterns = self.filters.clone();
        // The cases of a folder may have the names of operators.
        if self.sources.suite.is_none() {
            patterns.iter_mut().for_each(expand_operator);
        }
        if let Some(path) = &self.from {
            patterns.extend(read_patterns(path)?);
            if patterns.is_empty() {
                bail!(Nothing(format!("{}: the file has no filters, so no case is selected", path.display())));
            }
        }
        self.profile.add_to(&mut patterns);
        Ok(patterns)
    }

    /// Returns the filters as further words of a command line, each after a space. Returns `None` if other options than filters, or
    /// lines of standard input, select the cases.
    pub(crate) fn filter_arguments(&self) -> Option<String> {
        let is_repeatable = self.release.is_empty() && self.from.as_deref() != Some(Path::new("-"));
        let from = self.from.as_ref().map(|path| format!("--from {}", word(&path.display().to_string())));
        let profile = self.profile.profile.map(|profile| word(&profile.pattern()));
        let words = self.filters.iter().map(|filter| word(filter)).chain(from).chain(profile);
        is_repeatable.then(|| words.fold(String::new(), |all, word| all + " " + &word))
    }

    /// Returns the given options. The folder of `--testdata` may come from the environment, so it does not count.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let options = [
            ("FILTER", !self.filters.is_empty()),
            ("--from", self.from.is_some()),
            ("--release", !self.release.is_empty()),
            ("--profile", self.profile.profile.is_some()),
            ("--suite", self.sources.suite.is_some()),
            ("--specs", self.sources.specs.is_some()),
        ];
        options.into_iter().filter_map(|(option, is_given)| is_given.then_some(option)).collect()
    }

    /// Returns the file of `--from`.
    pub(crate) fn list(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    /// Restricts the filter to the tests of the named releases.
    pub(crate) fn narrowed(&self, filter: Filter) -> anyhow::Result<Filter> {
        Ok(filter.within(self.groups()?))
    }

    /// Returns the groups of the named releases, or an error if one does not exist.
    pub(crate) fn groups(&self) -> anyhow::Result<Vec<String>> {
        if self.release.is_empty() {
            return Ok(Vec::new());
        }
        if self.sources.suite.is_some() {
            let rule = "--release selects from the project's own cases, and --suite reads others; omit one of them";
            bail!(Usage(rule.to_owned()));
        }
        let releases = self.sources.releases()?;
        let known: Vec<&str> = releases.all().iter().map(|known| known.release.as_str()).collect();
        let mut groups = Vec::new();
        for name in &self.release {
            let below = format!("{name}.");
            let named: Vec<&&str> = known.iter().filter(|known| *known == name || known.starts_with(&below)).collect();
            if named.is_empty() {
                bail!(Usage(format!(
                    "there are no tests of ONNX release {name}; known releases: {}",
                    known.join(", ")
                )));
            }
            groups.extend(named.into_iter().map(|known| format!("onnx-{known}")));
        }
        Ok(groups)
    }
}

/// Replaces an operator, such as `Sum` or `Sum@13`, by the pattern of its cases, and prints it. Other patterns are unchanged.
fn expand_operator(filter: &mut String) {
    let (mark, plain) = filter.strip_prefix('!').map_or(("", filter.as_str()), |plain| ("!", plain));
    let Ok(name) = OperatorName::parse(plain) else { return };
    let is_group = plain.contains('/') && !plain.contains('@') && name.opset.is_some();
    if is_group {
        return;
    }
    let group = match name.opset.map(|_| name.version()) {
        None => format!("{}/{}-*", name.domain, name.name),
        Some(Ok(version)) => version.qualified(),
        Some(Err(_)) => return,
    };
    let pattern = format!("{mark}{group}/**");
    print::note(&format!("'{filter}' is read as '{pattern}'"));
    *filter = pattern;
}

/// Reads the patterns in a file. Each one is parsed separately, so that an invalid one is reported with its line.
fn read_patterns(path: &Path) -> anyhow::Result<Vec<String>> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let lines: Box<dyn Iterator<Item = io::Result<String>>> = if is_stdin {
        Box::new(lines(io::stdin().lock()))
    } else {
        Box::new(read_lines(path).with_context(|| name.clone())?)
    };
    let mut patterns = Vec::new();
    let mut size = 0;
    for (number, line) in (1..).zip(lines) {
        let line = line.with_context(|| format!("{name}:{number}"))?;
        size += line.len() + 1;
        if size > MAX_LIST {
            bail!("{name}: is larger than the limit of {MAX_LIST} bytes");
        }
        let pattern = line.trim();
        if !pattern.is_empty() && !pattern.starts_with('#') {
            Filter::new(&[Variant::split_id(pattern).0]).with_context(|| format!("{name}:{number}"))?;
            patterns.push(pattern.to_owned());
        }
    }
    Ok(patterns)
}

impl Sources {
    /// Opens the selected suite, with levels by the text of the suite's release.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        self.open_by(TextRelease::newest())
    }

    /// Opens the selected suite, with levels by the text of a release.
    pub(crate) fn open_by(&self, text: TextRelease) -> anyhow::Result<Suite> {
        if let Some(path) = &self.suite {
            return Ok(Suite::from_path(path)?);
        }
        let generated = match &self.specs {
            Some(folder) => Generated::new(read_operators(folder)?),
            None => Generated::embedded(),
        };
        Ok(Suite::project(self.testdata.as_deref(), generated.by_text(text))?)
    }

    /// Returns the origin of the cases.
    pub(crate) fn origin(&self) -> SuiteOrigin {
        match (&self.suite, &self.specs) {
            (Some(_), _) => SuiteOrigin::Folder,
            (None, Some(_)) => SuiteOrigin::OtherSpecs,
            (None, None) => SuiteOrigin::Project,
        }
    }

    /// Returns true if the cases are the project's own, which are covered by `records/` and the expectation files.
    pub(crate) fn is_project(&self) -> bool {
        self.origin() == SuiteOrigin::Project
    }

    /// Returns true if the runtime's accepted opsets and IR versions are probed before the cases run: for cases of
    /// operator versions, also from an archive.
    pub(crate) fn are_probed(&self) -> bool {
        self.suite.as_ref().is_none_or(|path| path.is_file())
    }

    /// Returns the confirming runtimes; none if the cases come from other files than the project's.
    pub(crate) fn evidence(&self) -> anyhow::Result<ConfirmingRuntimes<'static>> {
        Ok(if self.is_project() { ConfirmingRuntimes::embedded()? } else { ConfirmingRuntimes::empty() })
    }

    /// Returns the releases with tests among the cases.
    pub(crate) fn releases(&self) -> anyhow::Result<Arc<Releases>> {
        Ok(Releases::below(self.testdata.as_deref())?)
    }

    /// Opens the project's suite, regardless of the selected one.
    pub(crate) fn vendored(&self) -> anyhow::Result<Suite> {
        Ok(Suite::project(self.testdata.as_deref(), Generated::embedded())?)
    }

    /// Returns the op.yaml files of the cases from specs.
    pub(crate) fn operators(&self) -> anyhow::Result<OperatorCatalog> {
        Ok(match &self.specs {
            Some(folder) => read_operators(folder)?,
            None => OperatorCatalog::embedded(),
        })
    }
}

/// Parses a number, 0 or more.
pub(crate) fn count(text: &str) -> Result<usize, ValueError> {
    text.parse().map_err(|_| ValueError::Number { least: 0, most: usize::MAX })
}

/// Parses a memory size in megabytes and returns bytes; 0 means no limit.
pub(crate) fn megabytes(text: &str) -> Result<usize, ValueError> {
    count(text).map(|count| if count == 0 { usize::MAX } else { count.saturating_mul(1_000_000) })
}

/// Parses the maximum number of items to show; 0 means all.
pub(crate) fn shown(text: &str) -> Result<usize, ValueError> {
    count(text).map(|count| if count == 0 { usize::MAX } else { count })
}

/// Reads the expectations of a runtime from a file. If there is no file, every case is expected to pass.
pub fn read_expectations(path: &Path, runtime: &str) -> anyhow::Result<Expectations> {
    if !path.exists() {
        return Ok(Expectations::empty(runtime));
    }
    let name = path.display().to_string();
    let text = read_text(path).with_context(|| name.clone())?;
    Ok(Expectations::parse(&name, &text)?.about(&name, runtime)?)
}
