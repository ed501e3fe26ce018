//! Makes all files of the site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog};
use onnx_conformance_cases::suite::{Filter, SuiteError};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{FindingError, Findings};
use onnx_conformance_reference::spec::diff::DiffError;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{LookupError, OperatorVersion, Specs, Texts};
use rayon::prelude::*;
use serde::Serialize;

use crate::checkers;
use crate::coverage::{OperatorText, TextError};
use crate::site::causes::FailureCauses;
use crate::site::column::{Column, make_keys_unique};
use crate::site::columns::ShownColumns;
use crate::site::failures::{Changed, Disagreement, Failure, OperatorFailures};
use crate::site::finding_pages::{self, BySample, MeasuredFinding, SampleTexts, ShownBy};
use crate::site::findings::{self, FindingData};
use crate::site::front::{FrontBuilder, VersionStates};
use crate::site::graphs::{self, GraphsError, Topic};
use crate::site::intern::Interned;
use crate::site::operator::{OperatorParts, StandardTexts, operator};
use crate::site::output::{FRONT_PAGE, Output, OutputError, WrittenFiles, script};
use crate::site::rules;
use crate::site::sample::samples;
use crate::site::search::OperatorWords;
use crate::site::severity::tables_script;
use crate::site::static_pages::{
    self, BaseUrl, OperatorEntry, OperatorSources, PICTURE, Page, Sources, StaticError, front_head,
};
use crate::site::table::VersionTable;
use crate::site::together::Together;
use crate::site::tools::{self, ToolsError};
use crate::tool_overview::ToolOverviewError;

/// Front page, with a line for the tags that describe it.
const FRONT: &str = include_str!("assets/index.html");

/// Line of the front page that is replaced by these tags.
const DESCRIPTION: &str = "<!-- description -->\n";

/// Files that do not depend on measurements.
const ASSETS: &[(&str, &str)] = &[
    ("site.css", include_str!("assets/site.css")),
    ("old.js", include_str!("assets/old.js")),
    ("app.js", include_str!("assets/app.js")),
    ("states.js", include_str!("assets/states.js")),
    ("match.js", include_str!("assets/match.js")),
    ("synonyms.js", include_str!("assets/synonyms.js")),
    ("search.js", include_str!("assets/search.js")),
    ("addresses.js", include_str!("assets/addresses.js")),
    ("doors.js", include_str!("assets/doors.js")),
    ("releases.js", include_str!("assets/releases.js")),
    ("front.js", include_str!("assets/front.js")),
    ("behaviours.js", include_str!("assets/behaviours.js")),
    ("operator.js", include_str!("assets/operator.js")),
    ("conversions.js", include_str!("assets/conversions.js")),
    ("case.js", include_str!("assets/case.js")),
    ("graphs.js", include_str!("assets/graphs.js")),
    ("tools.js", include_str!("assets/tools.js")),
    ("runtime.js", include_str!("assets/runtime.js")),
    ("findings.js", include_str!("assets/findings.js")),
    ("rules.js", include_str!("assets/rules.js")),
    ("heat.js", include_str!("assets/heat.js")),
    ("together.js", include_str!("assets/together.js")),
    ("disagreements.js", include_str!("assets/disagreements.js")),
    ("compare.js", include_str!("assets/compare.js")),
    ("module.js", include_str!("assets/module.js")),
    ("layout.js", include_str!("assets/layout.js")),
    ("drawing.js", include_str!("assets/drawing.js")),
    ("does.js", include_str!("assets/does.js")),
    ("histogram.js", include_str!("assets/histogram.js")),
    ("model_graph.js", include_str!("assets/model_graph.js")),
    ("opsets.js", include_str!("assets/opsets.js")),
    ("model.js", include_str!("assets/model.js")),
    ("play.js", include_str!("assets/play.js")),
    ("keys.js", include_str!("assets/keys.js")),
];

/// An error while writing the site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A file cannot be made or written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The cases cannot be planned.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// A version cannot be looked up.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Two versions cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The list of texts cannot be read.
    #[error(transparent)]
    Texts(#[from] Box<YamlError>),
    /// The sentences of the texts cannot be read.
    #[error(transparent)]
    Sentences(#[from] TextError),
    /// A findings file is invalid.
    #[error(transparent)]
    Findings(#[from] FindingError),
    /// An expectation file is invalid.
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
    /// The graphs cannot be collected.
    #[error(transparent)]
    Graphs(#[from] GraphsError),
    /// The sample of a finding cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A page without JavaScript cannot be made.
    #[error(transparent)]
    Static(#[from] StaticError),
}

impl From<ToolsError> for SiteError {
    fn from(error: ToolsError) -> SiteError {
        match error {
            ToolsError::Expectations(error) | ToolsError::Overview(ToolOverviewError::Expectations(error)) => {
                SiteError::Expectations(error)
            }
            ToolsError::Findings(error) => SiteError::Findings(error),
            ToolsError::Checkers { error } => OutputError::Json { path: checkers::PATH.to_owned(), error }.into(),
            ToolsError::Overview(ToolOverviewError::Suite(error)) => SiteError::Suite(error),
        }
    }
}

/// Information about the suite itself on the front page.
#[derive(Debug, Default)]
pub struct Extra {
    /// Coverage of the suite per kind: number of items reached, excluded, and in total.
    pub reach: Vec<(&'static str, [usize; 3])>,
    /// Number of cases confirmed by each source.
    pub evidence: Vec<(String, usize)>,
    /// The standard's texts, from an installed package, to show their differences.
    pub texts: Option<StandardTexts>,
    /// The program that runs in the browser, as WebAssembly. Without it the pages state that they cannot compute.
    pub module: Option<Vec<u8>>,
    /// Address at which the site is published. With it the site has a map for search engines and a page for unknown addresses.
    pub base_url: Option<BaseUrl>,
}

/// A written site.
#[derive(Debug)]
pub struct Written {
    /// Its front page.
    pub page: PathBuf,
    /// Number of files.
    pub files: usize,
    /// The size of the largest file, in bytes.
    pub largest: usize,
    /// Remarks about measurements for readers.
    pub remarks: Vec<String>,
}

/// Contribution of an operator to the site.
struct OperatorPages {
    domain: String,
    name: String,
    summary: String,
    versions: Vec<VersionStates>,
    failures: OperatorFailures,
    findings: Vec<FindingData>,
    /// Texts about those samples of findings that are cases of the operator, by the full id of the finding.
    sample_texts: BTreeMap<String, SampleTexts>,
    words: OperatorWords,
    /// Script with the data of the operator's page.
    data: String,
    /// Summary for pages without JavaScript, and the operator's own.
    entry: Option<OperatorEntry>,
    page: Page,
}

/// Data of a runtime's page.
#[derive(Serialize)]
struct RuntimeData<'a> {
    /// Failures by operator, each with the position of its types.
    #[serde(rename = "faults")]
    failures: BTreeMap<&'a str, Vec<(&'a Failure, usize)>>,
    /// Lists of types, separated by spaces.
    types: Vec<String>,
    /// Column key of the previous release.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a str>,
    changes: Vec<&'a Changed>,
    findings: Vec<RuntimeFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<&'a FailureCauses>,
}

/// Finding on the page of a runtime. Its own page has the rest.
#[derive(Serialize)]
struct RuntimeFinding<'a> {
    id: &'a str,
    title: &'a str,
    versions: &'a str,
    /// Operators that show it.
    #[serde(rename = "ops")]
    operators: Vec<String>,
}

/// Step of writing the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The work, such as `reading the sentences of the standard`.
    pub work: &'static str,
    /// Number of finished items and of all, for a step with several.
    pub items: Option<(usize, usize)>,
}

impl Step {
    /// Creates a step without items.
    const fn new(work: &'static str) -> Step {
        Step { work, items: None }
    }
}

/// Receives each step, and the number of its finished items when it changes.
pub type Progress<'a> = &'a (dyn Fn(Step) + Sync);

/// Writes the site into a folder, which is created if it is missing. `digest` is the digest of the suite.
pub fn write_site(
    folder: &Path,
    mut columns: Vec<Column>,
    digest: &str,
    extra: Extra,
    progress: Progress<'_>,
) -> Result<Written, SiteError> {
    // A visible column keeps the plain key if a hidden one has the same.
    columns.sort_by_key(|column| !column.is_shown());
    make_keys_unique(&mut columns);
    let mut remarks: Vec<String> = columns.iter().flat_map(|column| column.remarks().to_vec()).collect();
    let (columns, elsewhere): (Vec<Column>, Vec<Column>) = columns.into_iter().partition(Column::is_shown);
    let columns = ShownColumns::new(columns);
    let mut out = Output::new(extra.base_url.clone());
    add_assets(&mut out, extra.base_url.as_ref());
    let (catalog, findings) = (OperatorCatalog::shared(), Findings::embedded()?);
    let evidence = ConfirmingRuntimes::embedded()?;
    let texts = Texts::read(Specs::embedded())?;
    progress(Step::new("reading the sentences of the standard"));
    let sentences = OperatorText::chosen(&Filter::default())?;
    let sentences = sentences.into_iter().map(|text| (text.operator.clone(), text)).collect();
    let by_sample = finding_pages::by_sample(findings.all());
    let parts = Parts {
        catalog,
        findings,
        by_sample: &by_sample,
        evidence: &evidence,
        texts: &texts,
        standard: extra.texts.as_ref(),
        sentences: &sentences,
        columns: &columns,
    };
    let mut operators = parts.all_pages(progress)?;
    add_operators(&mut out, &columns, &operators)?;
    progress(Step::new("making the pages of findings"));
    add_findings(&mut out, findings, &columns, &mut operators)?;
    progress(Step::new("making the pages of graphs"));
    add_graphs(&mut out, findings, &columns)?;
    progress(Step::new("making the page of tools"));
    out.json("data/tools.js", &tools::data()?)?;
    out.json("data/rules.js", &rules::data())?;
    let mut builder = FrontBuilder::default();
    for pages in operators {
        builder.add(&pages.domain, &pages.name, &pages.summary, pages.versions);
    }
    let mut front = builder.finish(&columns, &elsewhere, digest)?;
    (front.reach, front.evidence) = (extra.reach, extra.evidence);
    front.findings = findings.all().count();
    front.module = extra.module.map_or(Ok(0), |module| out.module(&module))?;
    out.json("data/front.js", &front)?;
    out.sitemap();
    progress(Step::new("writing the files"));
    let WrittenFiles { files, largest, removed } = out.put(folder)?;
    if removed > 0 {
        remarks.push(format!("{removed} files of the earlier site in {} were removed", folder.display()));
    }
    Ok(Written { page: folder.join(FRONT_PAGE), files, largest, remarks })
}

/// Adds the files that do not depend on measurements.
fn add_assets(out: &mut Output, base: Option<&BaseUrl>) {
    out.text(FRONT_PAGE, FRONT.replace(DESCRIPTION, &front_head(base)));
    for (name, text) in ASSETS {
        out.text(name, (*text).to_owned());
    }
    out.text("tables.js", tables_script());
}

/// Common sources of the pages.
struct Parts<'a> {
    catalog: &'a OperatorCatalog,
    findings: &'a Findings,
    by_sample: &'a BySample<'a>,
    evidence: &'a ConfirmingRuntimes<'a>,
    texts: &'a Texts,
    standard: Option<&'a StandardTexts>,
    sentences: &'a BTreeMap<String, OperatorText>,
    columns: &'a ShownColumns,
}

impl Parts<'_> {
    /// Makes the pages of every operator.
    fn all_pages(&self, progress: Progress<'_>) -> Result<Vec<OperatorPages>, SiteError> {
        let specs = Specs::embedded();
        let names: Vec<(&str, &str)> =
            specs.domains().flat_map(|domain| specs.operators(domain).map(move |name| (domain, name))).collect();
        let (finished, all) = (AtomicUsize::new(0), names.len());
        let show = |finished| progress(Step { work: "making the pages of operators", items: Some((finished, all)) });
        show(0);
        let pages = |(domain, name): (&str, &str)| {
            let pages = self.pages(domain, name);
            show(finished.fetch_add(1, Ordering::Relaxed) + 1);
            pages
        };
        names.into_par_iter().map(pages).collect()
    }

    fn pages(&self, domain: &str, name: &str) -> Result<OperatorPages, SiteError> {
        let mut tables = Vec::new();
        for since in Specs::embedded().versions(domain, name) {
            tables.push(VersionTable::new(&OperatorVersion::new(domain, name, since), self.columns)?);
        }
        let version = OperatorVersion::new(domain, name, 1);
        let file = self.catalog.get(&version)?;
        let findings = findings::about(self.findings, &tables)?;
        let of_findings: BTreeSet<&str> = findings.iter().map(|finding| finding.sample.as_str()).collect();
        let mut sample_texts = BTreeMap::new();
        let mut inspect = |case: &Case| {
            for finding in self.by_sample.get(case.id.as_str()).into_iter().flatten() {
                sample_texts.insert(finding.full_id(), finding_pages::sample_texts(finding, case));
            }
        };
        let samples = samples(self.catalog, &tables, self.evidence, &of_findings, &mut inspect)?;
        let (texts, standard, columns) = (self.texts, self.standard, self.columns);
        let nothing = OperatorText::default();
        let sentences = self.sentences.get(&format!("{domain}/{name}")).unwrap_or(&nothing);
        let sources = OperatorSources { file, tables: &tables, columns, findings: &findings, sentences };
        let page = sources.page()?;
        let findings_of_page = findings.clone();
        let parts = OperatorParts {
            file,
            tables: &tables,
            texts,
            standard,
            sentences,
            columns,
            samples,
            findings: findings_of_page,
        };
        let path = format!("data/op/{domain}/{name}.js");
        let data = script(&path, &operator(parts)?)?;
        Ok(OperatorPages {
            domain: domain.to_owned(),
            name: name.to_owned(),
            summary: file.summary.clone(),
            versions: tables.iter().map(|table| VersionStates::new(table, self.columns.len())).collect(),
            failures: OperatorFailures::new(&tables, self.columns),
            findings,
            sample_texts,
            words: OperatorWords::new(file, &tables),
            data,
            entry: OperatorEntry::new(&tables, &file.summary, columns),
            page,
        })
    }
}

/// Adds the pages of operators and runtimes, the disagreements, and the words of operators for the search, in the order of the
/// front page.
fn add_operators(out: &mut Output, columns: &ShownColumns, operators: &[OperatorPages]) -> Result<(), SiteError> {
    for pages in operators {
        out.text(&format!("data/op/{}/{}.js", pages.domain, pages.name), pages.data.clone());
        out.page(&pages.page);
    }
    for (index, column) in columns.iter().enumerate() {
        let data = runtime_data(index, columns, operators);
        out.json(&format!("data/runtime/{}.js", column.key), &data)?;
    }
    let disagreements: Vec<&Disagreement> = operators.iter().flat_map(|pages| &pages.failures.disagreements).collect();
    out.json("data/disagreements.js", &disagreements)?;
    let mut together = Together::default();
    for pages in operators {
        together.merge(&pages.failures.together);
    }
    let keys: Vec<&str> =
        columns.newest().iter().filter_map(|&column| columns.get(column)).map(|column| column.key.as_str()).collect();
    out.json("data/together.js", &serde_json::json!({ "runtimes": keys, "ends": together }))?;
    Ok(out.json("data/search.js", &operators.iter().map(|pages| &pages.words).collect::<Vec<_>>())?)
}

/// Adds the list of patterns of graphs, and the data of each.
fn add_graphs(out: &mut Output, findings: &Findings, columns: &ShownColumns) -> Result<(), SiteError> {
    let topics = graphs::topics(columns, findings)?;
    for (path, pattern) in topics.iter().flat_map(Topic::files) {
        out.json(&path, pattern)?;
    }
    Ok(out.json("data/graphs.js", &graphs::data(&topics))?)
}

/// Adds the list of findings, the page of each, and the pages without JavaScript that are not about an operator.
fn add_findings(
    out: &mut Output,
    findings: &Findings,
    columns: &ShownColumns,
    operators: &mut [OperatorPages],
) -> Result<(), SiteError> {
    let mut samples = BTreeMap::new();
    for pages in operators.iter_mut() {
        samples.append(&mut pages.sample_texts);
    }
    let mut shown: BTreeMap<String, Vec<ShownBy>> = BTreeMap::new();
    for pages in operators.iter() {
        for finding in &pages.findings {
            let versions = shown.entry(format!("{}/{}", finding.text.runtime, finding.text.id)).or_default();
            for (since, behaviours) in &finding.behaviours {
                versions.push((OperatorVersion::new(&pages.domain, &pages.name, *since), behaviours.clone()));
            }
        }
    }
    let measured = finding_pages::measured(findings, &shown)?;
    let others = findings.all().filter(|finding| !samples.contains_key(&finding.full_id()));
    let others = finding_pages::samples(others)?;
    samples.extend(others);
    for finding in &measured {
        out.json(&finding.path(), &finding.page(&samples)?)?;
    }
    let rows = measured.iter().map(MeasuredFinding::row).collect::<Result<Vec<_>, _>>()?;
    out.json("data/findings.js", &rows)?;
    add_static_pages(out, columns, operators, &measured, &samples)
}

/// Adds the pages without JavaScript that are not about an operator, and the picture of all results.
fn add_static_pages(
    out: &mut Output,
    columns: &ShownColumns,
    operators: &[OperatorPages],
    findings: &[MeasuredFinding<'_>],
    samples: &BTreeMap<String, SampleTexts>,
) -> Result<(), SiteError> {
    let entries: Vec<(&OperatorEntry, &OperatorFailures)> =
        operators.iter().filter_map(|pages| Some((pages.entry.as_ref()?, &pages.failures))).collect();
    let sources = Sources { columns, operators: &entries, findings, samples };
    for page in static_pages::pages(&sources)? {
        out.page(&page);
    }
    out.json("data/releases.js", &static_pages::release_names()?)?;
    let summaries: Vec<&OperatorEntry> = entries.iter().map(|(entry, _)| *entry).collect();
    let picture = static_pages::picture(columns, &summaries).map_err(StaticError::Picture)?;
    out.bytes(PICTURE, picture);
    Ok(())
}

/// Returns the data of a column's page.
fn runtime_data<'a>(index: usize, columns: &'a ShownColumns, operators: &'a [OperatorPages]) -> RuntimeData<'a> {
    let runtime = columns.get(index).map_or("", Column::runtime);
    let before = columns.previous(index).and_then(|previous| columns.get(previous));
    let mut findings: BTreeMap<&str, RuntimeFinding<'a>> = BTreeMap::new();
    for pages in operators {
        let operator = format!("{}/{}", pages.domain, pages.name);
        for FindingData { text, .. } in pages.findings.iter().filter(|finding| finding.text.runtime == runtime) {
            let new =
                || RuntimeFinding { id: &text.id, title: &text.title, versions: &text.versions, operators: Vec::new() };
            findings.entry(&text.id).or_insert_with(new).operators.push(operator.clone());
        }
    }
    let (mut failures, mut types) = (BTreeMap::<&str, Vec<(&Failure, usize)>>::new(), Interned::default());
    for failure in operators.iter().filter_map(|pages| pages.failures.failures.get(index)).flatten() {
        let list: Vec<&str> = failure.types.iter().map(String::as_str).collect();
        failures.entry(&failure.operator).or_default().push((failure, types.position(list.join(" "))));
    }
    RuntimeData {
        failures,
        types: types.into_texts(),
        before: before.map(|before| before.key.as_str()),
        changes: operators.iter().filter_map(|pages| pages.failures.changes.get(index)).flatten().collect(),
        findings: findings.into_values().collect(),
        causes: columns.get(index).and_then(|column| column.causes.as_ref()),
    }
}
