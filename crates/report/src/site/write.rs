//! The files of the site.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use onnx_conformance_reference::spec::diff::DiffError;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{LookupError, OperatorVersion, Specs, Texts};
use rayon::prelude::*;
use serde::Serialize;

use crate::site::column::{Column, tell_apart};
use crate::site::faults::{Changed, Disagreement, Fault, OperatorFaults};
use crate::site::findings::{self, FindingData};
use crate::site::front::{FrontBuilder, VersionStates};
use crate::site::operator::{OperatorParts, StandardTexts, operator};
use crate::site::sample::samples;
use crate::site::table::VersionTable;
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::expectations::{ExpectationError, version_key};
use onnx_conformance_harness::findings::{FindingError, Findings};
use onnx_conformance_harness::whole_file::write_whole;

/// The files that do not depend on any measurement.
const ASSETS: &[(&str, &str)] = &[
    ("index.html", include_str!("assets/index.html")),
    ("site.css", include_str!("assets/site.css")),
    ("app.js", include_str!("assets/app.js")),
    ("states.js", include_str!("assets/states.js")),
    ("search.js", include_str!("assets/search.js")),
    ("front.js", include_str!("assets/front.js")),
    ("operator.js", include_str!("assets/operator.js")),
    ("case.js", include_str!("assets/case.js")),
    ("runtime.js", include_str!("assets/runtime.js")),
    ("module.js", include_str!("assets/module.js")),
    ("model.js", include_str!("assets/model.js")),
    ("play.js", include_str!("assets/play.js")),
    ("keys.js", include_str!("assets/keys.js")),
];

/// The bytes of the program for browsers that a file holds, in base 64: no file of the site has more than 2 MB.
const MODULE_PART: usize = 1_350_000;

/// A site that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A file cannot be written.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The data of a page is none.
    #[error("{path}: {error}")]
    Json {
        /// The file.
        path: String,
        /// Why.
        error: serde_json::Error,
    },
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
    /// A file of findings is wrong.
    #[error(transparent)]
    Findings(#[from] FindingError),
    /// An expectation file is wrong.
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
}

/// What the front page says of the suite itself.
#[derive(Debug, Default)]
pub struct Extra {
    /// How far the suite reaches: of what, how many reached, excused, and in all.
    pub reach: Vec<(&'static str, [usize; 3])>,
    /// How many cases each source confirms.
    pub evidence: Vec<(String, usize)>,
    /// The standard's texts, from an installed package, to show how they differ.
    pub texts: Option<StandardTexts>,
    /// The program that computes in the browser, as WebAssembly; without it the pages say that they cannot.
    pub module: Option<Vec<u8>>,
}

/// A site that is written.
#[derive(Debug)]
pub struct Written {
    /// Its front page.
    pub page: PathBuf,
    /// How many files it has.
    pub files: usize,
    /// The size of the largest file, in bytes.
    pub largest: usize,
    /// What a reader is told about measurements.
    pub remarks: Vec<String>,
}

/// What an operator adds to the site.
struct OperatorPages {
    domain: String,
    name: String,
    summary: String,
    versions: Vec<VersionStates>,
    faults: OperatorFaults,
    findings: Vec<FindingData>,
    data: String,
}

/// The data of a runtime's page.
#[derive(Serialize)]
struct RuntimeData<'a> {
    faults: Vec<&'a Fault>,
    /// The key of the column of the release before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a str>,
    changes: Vec<&'a Changed>,
    /// The operator and its finding.
    findings: Vec<(String, &'a FindingData)>,
}

/// Writes the site into a folder, which is made where it is missing. `digest` is that of the suite.
pub fn write_site(folder: &Path, mut columns: Vec<Column>, digest: &str, extra: Extra) -> Result<Written, SiteError> {
    // What is shown has the plain name where something that is not shown has the same.
    columns.sort_by_key(|column| !column.is_shown());
    tell_apart(&mut columns);
    let remarks = columns.iter().flat_map(|column| column.remarks().to_vec()).collect();
    let (columns, elsewhere): (Vec<Column>, Vec<Column>) = columns.into_iter().partition(Column::is_shown);
    let before = before(&columns);
    let newest = newest(&columns);
    let mut out = Output { folder: folder.to_owned(), files: 0, largest: 0 };
    for (name, text) in ASSETS {
        out.write(name, text)?;
    }
    let (catalog, findings) = (OperatorCatalog::embedded(), Findings::embedded()?);
    let evidence = ConfirmingRuntimes::embedded()?;
    let specs = Specs::embedded();
    let names: Vec<(&str, &str)> =
        specs.domains().flat_map(|domain| specs.operators(domain).map(move |name| (domain, name))).collect();
    let texts = Texts::read(specs)?;
    let parts = Parts {
        catalog: &catalog,
        findings,
        evidence: &evidence,
        texts: &texts,
        standard: extra.texts.as_ref(),
        columns: &columns,
    };
    let operators: Vec<OperatorPages> = names
        .into_par_iter()
        .map(|(domain, name)| parts.pages(domain, name, &before, &newest))
        .collect::<Result<_, SiteError>>()?;
    for pages in &operators {
        out.data(&format!("data/op/{}/{}.js", pages.domain, pages.name), &pages.data)?;
    }
    for (index, column) in columns.iter().enumerate() {
        let data = runtime_data(index, column, &columns, &before, &operators);
        out.json(&format!("data/runtime/{}.js", column.key), &data)?;
    }
    let disagreements: Vec<&Disagreement> = operators.iter().flat_map(|pages| &pages.faults.disagreements).collect();
    out.json("data/disagreements.js", &disagreements)?;
    let mut builder = FrontBuilder::default();
    for pages in operators {
        builder.add(&pages.domain, &pages.name, &pages.summary, pages.versions);
    }
    let mut front = builder.finish(&columns, &elsewhere, digest)?;
    (front.reach, front.evidence) = (extra.reach, extra.evidence);
    if let Some(module) = &extra.module {
        let io = |error| SiteError::Io { path: "data/module".to_owned(), error };
        for part in packed(module).map_err(io)?.chunks(MODULE_PART) {
            let path = format!("data/module/{}.js", front.module);
            // A page that is opened from a file may read scripts alone, which are text.
            out.json(&path, &serde_json::json!({ "gzip": BASE64.encode(part) }))?;
            front.module += 1;
        }
    }
    out.json("data/front.js", &front)?;
    let page = folder.join("index.html");
    Ok(Written { page, files: out.files, largest: out.largest, remarks })
}

/// What pages are made from.
struct Parts<'a> {
    catalog: &'a OperatorCatalog,
    findings: &'a Findings,
    evidence: &'a ConfirmingRuntimes<'a>,
    texts: &'a Texts,
    standard: Option<&'a StandardTexts>,
    columns: &'a [Column],
}

impl Parts<'_> {
    fn pages(
        &self,
        domain: &str,
        name: &str,
        before: &[Option<usize>],
        newest: &[usize],
    ) -> Result<OperatorPages, SiteError> {
        let mut tables = Vec::new();
        for since in Specs::embedded().versions(domain, name) {
            tables.push(VersionTable::new(&OperatorVersion::new(domain, name, since), self.columns)?);
        }
        let version = OperatorVersion::new(domain, name, 1);
        let (file, _) = self.catalog.get(&version)?;
        let findings = findings::about(self.findings, &tables)?;
        let samples = samples(self.catalog, &tables, self.evidence)?;
        let (texts, standard, columns) = (self.texts, self.standard, self.columns);
        let parts =
            OperatorParts { file, tables: &tables, texts, standard, columns, samples, findings: findings.clone() };
        let path = format!("data/op/{domain}/{name}.js");
        let data = serde_json::to_string(&operator(parts)?).map_err(|error| SiteError::Json { path, error })?;
        Ok(OperatorPages {
            domain: domain.to_owned(),
            name: name.to_owned(),
            summary: file.summary.clone(),
            versions: tables.iter().map(|table| VersionStates::new(table, self.columns.len())).collect(),
            faults: OperatorFaults::new(&tables, self.columns, before, newest),
            findings,
            data,
        })
    }
}

/// The column of the release before, for each committed column.
fn before(columns: &[Column]) -> Vec<Option<usize>> {
    let earlier = |column: &Column| {
        let older = columns.iter().enumerate().filter(|(_, other)| {
            other.file.is_none()
                && other.runtime == column.runtime
                && version_key(&other.version) < version_key(&column.version)
        });
        older.max_by_key(|(_, other)| version_key(&other.version)).map(|(index, _)| index)
    };
    columns.iter().map(earlier).collect()
}

/// The column of the newest version of each runtime, a results file before a committed measurement.
fn newest(columns: &[Column]) -> Vec<usize> {
    let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        let rank = |column: &Column| (version_key(&column.version), column.file.is_some());
        let is_newer = |known: &usize| columns.get(*known).is_none_or(|known| rank(known) <= rank(column));
        if newest.get(column.runtime.as_str()).is_none_or(is_newer) {
            newest.insert(&column.runtime, index);
        }
    }
    newest.into_values().collect()
}

fn runtime_data<'a>(
    index: usize,
    column: &Column,
    columns: &'a [Column],
    before: &[Option<usize>],
    operators: &'a [OperatorPages],
) -> RuntimeData<'a> {
    let before = before.get(index).copied().flatten().and_then(|before| columns.get(before));
    let own = |pages: &'a OperatorPages| {
        let operator = format!("{}/{}", pages.domain, pages.name);
        let about = pages.findings.iter().filter(|finding| finding.runtime == column.runtime);
        about.map(move |finding| (operator.clone(), finding)).collect::<Vec<_>>()
    };
    RuntimeData {
        faults: operators.iter().filter_map(|pages| pages.faults.faults.get(index)).flatten().collect(),
        before: before.map(|before| before.key.as_str()),
        changes: operators.iter().filter_map(|pages| pages.faults.changes.get(index)).flatten().collect(),
        findings: operators.iter().flat_map(own).collect(),
    }
}

/// A folder that files are written into.
struct Output {
    folder: PathBuf,
    files: usize,
    largest: usize,
}

impl Output {
    fn json(&mut self, path: &str, data: &impl Serialize) -> Result<(), SiteError> {
        let text = serde_json::to_string(data).map_err(|error| SiteError::Json { path: path.to_owned(), error })?;
        self.data(path, &text)
    }

    /// Data as a script, since a page that is opened from a file may not read other files.
    fn data(&mut self, path: &str, json: &str) -> Result<(), SiteError> {
        let name = path.strip_prefix("data/").and_then(|path| path.strip_suffix(".js")).unwrap_or(path);
        let name = serde_json::Value::from(name).to_string();
        self.write(path, &format!("\"use strict\";\nsite.loaded({name}, {});\n", in_script(json)))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), SiteError> {
        let place = self.folder.join(path);
        let failed = |error: std::io::Error| SiteError::Io { path: place.display().to_string(), error };
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        write_whole(&place, text.as_bytes()).map_err(failed)?;
        self.files += 1;
        self.largest = self.largest.max(text.len());
        Ok(())
    }
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// JSON that is also an expression of JavaScript, and that no parser takes for the end of a script.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
