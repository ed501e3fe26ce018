//! Data of an operator's page: the signature of each version, the changes, and the measurements.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::generate::OperatorFile;
use onnx_conformance_harness::measure::Measured;
use onnx_conformance_reference::spec::diff::{self, Change, DiffError};
use onnx_conformance_reference::spec::{FormalParameter, MeaningChange, OpSpec, OperatorVersion, Specs, Texts};
use onnx_conformance_reference::types::ValueType;
use serde::Serialize;

use crate::coverage::{Conversions, OperatorText, StatedSentence};
use crate::signature::{self, Row};
use crate::site::case_name::{CaseName, type_label};
use crate::site::column::{Column, Detail};
use crate::site::findings::FindingData;
use crate::site::front::texts;
use crate::site::intern::Interned;
use crate::site::sample::{Sample, Samples};
use crate::site::shares::{Shares, shares};
use crate::site::table::{CaseRow, VersionTable};

/// Lines of the standard's text of each operator version, by its name.
pub type StandardTexts = BTreeMap<String, Vec<String>>;

/// The data of an operator's page.
#[derive(Debug, Serialize)]
pub(crate) struct OperatorData<'a> {
    domain: &'a str,
    name: &'a str,
    summary: &'a str,
    accuracy: Vec<(String, String)>,
    shares: Shares<'a>,
    rules: Vec<RuleData<'a>>,
    sentences: Vec<SentenceData>,
    versions: Vec<VersionData<'a>>,
    pairs: Vec<PairData>,
    conversions: Vec<ConversionData>,
    /// States of all columns, separated by spaces.
    rows: Vec<String>,
    /// Outcomes of all columns, a letter each.
    outcomes: Vec<String>,
    /// The settings of nodes.
    settings: Vec<String>,
    behaviours: Vec<BehaviourData<'a>>,
    samples: BTreeMap<String, Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<SilentData>,
    /// Samples of findings, by id.
    others: BTreeMap<String, Sample>,
    findings: Vec<FindingData>,
    /// Messages and distances from results files, by id and column key.
    details: BTreeMap<String, BTreeMap<&'a str, Detail>>,
    /// Other cases that executed the operator.
    also: BTreeSet<&'a str>,
}

/// A rule of the operator, with the cases that show it and that violate it.
#[derive(Debug, Serialize)]
struct RuleData<'a> {
    id: &'a str,
    says: &'a str,
    shown: Vec<&'a str>,
    broken: Vec<String>,
}

/// A sentence of the standard, with its state in some versions.
#[derive(Debug, Serialize)]
struct SentenceData {
    /// The sentence.
    t: &'static str,
    /// The versions.
    v: Vec<u32>,
    /// Its places in the texts of the versions.
    p: String,
    /// The name of the state.
    s: &'static str,
    /// The rules, or the reason.
    w: String,
    /// The number of its cases.
    n: usize,
}

#[derive(Debug, Serialize)]
struct VersionData<'a> {
    since: u32,
    last: u32,
    deprecated: bool,
    experimental: bool,
    inference: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// First ONNX release with this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a str>,
    /// Number of lines of the standard's text, and their digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<(usize, String)>,
    signature: String,
    lines: Vec<String>,
    /// Lines of the standard's text, if available.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard: Option<&'a [String]>,
    /// Name, type, default, and true if required.
    attributes: Vec<(&'a str, String, Option<String>, bool)>,
    /// Name, type, presence.
    inputs: Vec<[String; 3]>,
    outputs: Vec<[String; 3]>,
    /// Types by type parameter.
    types: Vec<(&'a str, Vec<TypeData>)>,
    /// Rows of the states of the whole version.
    all: [usize; 2],
}

/// A type as in ids and in ONNX's spelling, and the rows of its states.
type TypeData = (String, String, [usize; 2]);

/// Changes between two versions.
#[derive(Debug, Serialize)]
struct PairData {
    from: u32,
    to: u32,
    changes: Vec<(&'static str, String)>,
    rows: Vec<Row>,
    /// Diff of the standard's texts by line, if available.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Vec<Row>>,
}

/// The newest silent change of meaning: the behaviour of its case, and the versions before and after it.
type SilentData = (String, u32, u32);

/// Version of the cases, target opset, and the numbers of unchanged, edited and refused cases.
type ConversionData = (u32, u32, [usize; 3]);

#[derive(Debug, Serialize)]
struct BehaviourData<'a> {
    #[serde(rename = "n")]
    name: &'a str,
    level: Level,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    refusal: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    edge: bool,
    /// By version: the end of each id, and the positions of its outcomes and of its settings.
    #[serde(rename = "v")]
    cases: BTreeMap<u32, Vec<(&'a str, usize, usize)>>,
    /// By version: the positions of the cases that are open although the behaviour is not, or the reverse.
    #[serde(rename = "x", skip_serializing_if = "BTreeMap::is_empty")]
    other_levels: BTreeMap<u32, Vec<usize>>,
}

/// Parts of an operator's page.
pub(crate) struct OperatorParts<'a> {
    /// The operator's op.yaml.
    pub(crate) file: &'a OperatorFile,
    /// Its versions, oldest first.
    pub(crate) tables: &'a [VersionTable],
    /// Index of the standard's texts.
    pub(crate) texts: &'a Texts,
    /// The standard's texts themselves, if available.
    pub(crate) standard: Option<&'a StandardTexts>,
    /// The sentences of the standard, each with its state.
    pub(crate) sentences: &'a OperatorText,
    /// The columns.
    pub(crate) columns: &'a [Column],
    /// A sample case per behaviour, and those of findings.
    pub(crate) samples: Samples,
    /// Findings about the operator.
    pub(crate) findings: Vec<FindingData>,
}

/// Creates the data of an operator's page.
pub(crate) fn operator<'a>(parts: OperatorParts<'a>) -> Result<OperatorData<'a>, DiffError> {
    let (mut rows, mut outcomes, mut settings) = (Interned::default(), Interned::default(), Interned::default());
    let versions = parts.tables.iter().map(|table| parts.version_data(table, &mut rows)).collect();
    let OperatorParts { file, tables, standard, sentences, columns, samples, findings, .. } = parts;
    let behaviours = behaviours(tables, &mut outcomes, &mut settings);
    let mut details: BTreeMap<String, BTreeMap<&str, Detail>> = BTreeMap::new();
    for column in columns.iter().filter(|column| column.file.is_some()) {
        for table in tables {
            let ids = table.cases.iter().map(|case| format!("{}/{}", table.version.qualified(), case.name));
            for id in ids {
                if let Some(detail) = column.detail(&id) {
                    details.entry(id).or_default().insert(&column.key, detail);
                }
            }
        }
    }
    let operator = tables.first().map(|table| format!("{}/{}", table.version.domain, table.version.name));
    let uses = |column: &'a Column| column.uses.get(operator.as_deref()?);
    let also = columns.iter().filter_map(uses).flatten().map(String::as_str).collect();
    Ok(OperatorData {
        domain: tables.first().map_or("", |table| &table.version.domain),
        name: &file.op,
        summary: &file.summary,
        accuracy: file.accuracy.sentences(),
        shares: shares(tables, columns),
        rules: rules(file),
        sentences: sentences.sentences.iter().map(sentence_data).collect(),
        versions,
        pairs: pairs(tables, standard)?,
        conversions: conversions(tables),
        rows: rows.into_texts(),
        outcomes: outcomes.into_texts(),
        settings: settings.into_texts(),
        behaviours,
        samples: samples.behaviours,
        silent: silent_change(file, tables),
        others: samples.others,
        findings,
        details,
        also,
    })
}

fn sentence_data(stated: &StatedSentence) -> SentenceData {
    let places: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
    SentenceData {
        t: stated.sentence.text,
        v: stated.versions.clone(),
        p: places.join(", "),
        s: stated.state.name(),
        w: stated.state.words(),
        n: stated.cases.len(),
    }
}

fn rules(file: &OperatorFile) -> Vec<RuleData<'_>> {
    let mut rules: Vec<RuleData<'_>> = Vec::new();
    for (id, constraint) in &file.constraints.0 {
        let is_own = |constraint: &Option<String>| constraint.as_ref() == Some(id);
        let shown = file.cases.iter().filter(|case| is_own(&case.constraint)).map(|case| case.name.as_str());
        let broken = file.refuse.iter().filter(|case| is_own(&case.constraint));
        rules.push(RuleData {
            id,
            says: &constraint.says,
            shown: shown.collect(),
            broken: broken.map(|case| format!("refuse/{}", case.name)).collect(),
        });
    }
    rules
}

impl<'a> OperatorParts<'a> {
    /// Creates the data of a version. The states of its columns become `rows`.
    fn version_data(&self, table: &'a VersionTable, rows: &mut Interned) -> VersionData<'a> {
        let (spec, columns) = (table.spec, self.columns.len());
        let mut both = |cases: &[&CaseRow]| texts(cases, columns).map(|states| rows.position(states));
        let types = spec.types.iter().map(|(parameter, allowed)| {
            let cell = |value_type: &ValueType| {
                let label = type_label(value_type);
                let states = both(&table.cases_of(parameter, &label));
                (label, value_type.to_string(), states)
            };
            (parameter.as_str(), allowed.iter().map(cell).collect())
        });
        let types = types.collect();
        VersionData {
            since: spec.version.since,
            last: *table.opsets.end(),
            deprecated: spec.deprecated,
            experimental: spec.experimental,
            inference: spec.shape_inference,
            function: spec.function.map(|kind| kind.to_string()),
            release: release(spec),
            text: self.texts.get(&spec.version).map(|text| (text.lines, text.digest.clone())),
            signature: signature::line(spec),
            lines: signature::lines(spec),
            standard: lines_of(self.standard, &spec.version),
            attributes: spec
                .attributes
                .iter()
                .map(|(name, it)| {
                    (name.as_str(), it.kind.to_string(), it.default.as_ref().map(ToString::to_string), it.required)
                })
                .collect(),
            inputs: formals(&spec.inputs),
            outputs: formals(&spec.outputs),
            types,
            all: both(&table.cases.iter().collect::<Vec<_>>()),
        }
    }
}

fn release(spec: &OpSpec) -> Option<&'static str> {
    let releases = Specs::embedded().releases().ok()?;
    releases.first_with(&spec.version.domain, spec.version.since).map(|release| release.onnx.as_str())
}

fn formals(formals: &[FormalParameter]) -> Vec<[String; 3]> {
    let row = |formal: &FormalParameter| [formal.name.clone(), formal.kind.to_string(), formal.presence.to_string()];
    formals.iter().map(row).collect()
}

/// Returns the lines of the standard's text of a version.
fn lines_of<'a>(standard: Option<&'a StandardTexts>, version: &OperatorVersion) -> Option<&'a [String]> {
    standard?.get(&version.qualified()).map(Vec::as_slice)
}

/// Compares every version with every later one.
fn pairs(tables: &[VersionTable], standard: Option<&StandardTexts>) -> Result<Vec<PairData>, DiffError> {
    let specs = Specs::embedded();
    let mut pairs = Vec::new();
    for (index, before) in tables.iter().enumerate() {
        for after in tables.iter().skip(index + 1) {
            let (from, to) = (&before.version, &after.version);
            let diff = diff::versions(specs, &to.domain, &to.name, from.since, to.since)?;
            let changes = diff.changes.iter().map(|change| (kind(change), change.to_string())).collect();
            let rows = signature::compare(&signature::lines(before.spec), &signature::lines(after.spec));
            let texts = lines_of(standard, from).zip(lines_of(standard, to));
            let text = texts.map(|(from, to)| signature::compare(from, to));
            pairs.push(PairData { from: from.since, to: to.since, changes, rows, text });
        }
    }
    Ok(pairs)
}

fn conversions(tables: &[VersionTable]) -> Vec<ConversionData> {
    let Some(VersionTable { version, .. }) = tables.first() else { return Vec::new() };
    let all = Conversions::of_operator(&version.domain, &version.name).into_iter();
    all.map(|it| (it.version.since, it.opset, [it.same, it.edited, it.refused])).collect()
}

fn silent_change(file: &OperatorFile, tables: &[VersionTable]) -> Option<SilentData> {
    let first =
        |changes: &[MeaningChange]| changes.iter().find_map(|change| Some(change.silent.first()?.example.clone()));
    let mut newest_first = file.changes.0.iter().rev();
    let (to, example) = newest_first.find_map(|(since, changes)| Some((*since, first(changes)?)))?;
    let from = tables.iter().map(|table| table.version.since).filter(|since| *since < to).max()?;
    let id = CaseId::parse(&example);
    let version = id.version()?;
    let table = tables.iter().find(|table| table.version == version)?;
    Some((CaseName::parse(id.name(), table.spec).behaviour.to_owned(), from, to))
}

fn kind(change: &Change) -> &'static str {
    match change {
        Change::Meaning { meaning, .. } if meaning.silent.is_empty() => "meaning",
        Change::Meaning { .. } => "silent",
        _ => "signature",
    }
}

fn behaviours<'a>(
    tables: &'a [VersionTable],
    outcomes: &mut Interned,
    settings: &mut Interned,
) -> Vec<BehaviourData<'a>> {
    let mut all: BTreeMap<&str, BehaviourData<'a>> = BTreeMap::new();
    for table in tables {
        for case in &table.cases {
            let Some(behaviour) = table.behaviours.get(case.behaviour) else { continue };
            let data = all.entry(&behaviour.name).or_insert_with(|| BehaviourData {
                name: &behaviour.name,
                level: behaviour.level,
                refusal: behaviour.is_refusal,
                edge: behaviour.is_edge,
                cases: BTreeMap::new(),
                other_levels: BTreeMap::new(),
            });
            let letters: String = case.measured.iter().map(|measured| letter(*measured)).collect();
            let rest = case.name.strip_prefix(&behaviour.name).unwrap_or(&case.name);
            let cases = data.cases.entry(table.version.since).or_default();
            if (case.level == Level::Open) != (data.level == Level::Open) {
                data.other_levels.entry(table.version.since).or_default().push(cases.len());
            }
            cases.push((rest, outcomes.position(letters), settings.position(case.settings.clone())));
        }
    }
    all.into_values().collect()
}

/// Letter of an outcome in the data of the pages. `site.OUTCOMES` in the script has the words.
pub(crate) const fn letter(measured: Measured) -> char {
    match measured {
        Measured::NotAccepted => 'n',
        Measured::Unknown => '?',
        Measured::Inexact(_) => 'I',
        Measured::Ended(outcome) => outcome.letter(),
    }
}
