//! `records/<domain>/<operator>.txt`: the ids of an operator's cases, and a digest of the cases for each version.
//!
//! A version's line is its since, the number of its cases, and their digest. After an empty line there is a numbered
//! line for each set of facts about cases. After another empty line there are the ids after the version's name. Each
//! line has the versions, the number of the facts, the common prefix of the ids, and their ends. After a third empty line there
//! are the digests of the cases: the since of a version, and the digests in the order of ids, without separators.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use flate2::read::ZlibDecoder;
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_reference::spec::{CaseFileKind, OperatorVersion, Specs, case_file, embedded};

use crate::case::{Case, CaseDigest, TextRelease, digest_of_texts, digests};
use crate::generate::{GenerateError, OperatorCatalog, cases};
use crate::suite::recorded_case::{CaseFacts, RecordedCase};
use crate::suite::wrapped_record;

/// Width after which a line of ids is wrapped.
const WIDTH: usize = 110;

/// Number of digests of cases on a line.
const DIGESTS_PER_LINE: usize = 17;

/// Operators with an embedded record, sorted, and the end of each record in the text of all.
#[expect(clippy::unreadable_literal, reason = "a table that the build writes")]
static ENDS: &[(&str, usize)] = include!(concat!(env!("OUT_DIR"), "/records.rs"));

/// The text of all records, compressed.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/records.z"));

/// The record of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorRecord {
    /// The digest of the source files of the cases. If it differs from the current one, the ids may differ.
    pub source: String,
    /// The versions by since.
    pub versions: BTreeMap<u32, VersionRecord>,
}

/// The record of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRecord {
    /// The ids after the name of the version, and the facts and digests of the cases.
    pub cases: BTreeMap<String, (Arc<CaseFacts>, CaseDigest)>,
    /// The digest of the cases.
    pub digest: String,
}

impl VersionRecord {
    /// Returns the ids of cases that are new or changed since an earlier record of the version. A case whose level has become
    /// stricter was not judged before.
    pub fn changed_since(&self, earlier: &VersionRecord) -> BTreeSet<&str> {
        let is_changed = |(id, (facts, digest)): &(&String, &(Arc<CaseFacts>, CaseDigest))| {
            earlier.cases.get(*id).is_none_or(|(before, old)| old != digest || facts.level < before.level)
        };
        self.cases.iter().filter(is_changed).map(|(id, _)| id.as_str()).collect()
    }
}

impl OperatorRecord {
    /// Creates the record of an operator, such as `ai.onnx/Abs`, without versions.
    pub fn new(operator: &str) -> OperatorRecord {
        OperatorRecord { source: digest_of_sources(operator), versions: BTreeMap::new() }
    }

    /// Returns the embedded record, or `None` if there is none or it is not complete.
    pub fn embedded(operator: &str) -> Option<OperatorRecord> {
        OperatorRecord::parse(embedded_text(operator)?.1)
    }

    /// Adds all cases of a version.
    pub fn add(&mut self, version: &OperatorVersion, cases: &[Case]) {
        let prefix = format!("{}/", version.qualified());
        let mut known: BTreeSet<Arc<CaseFacts>> = BTreeSet::new();
        let mut shared = |facts: CaseFacts| {
            let facts = known.get(&facts).cloned().unwrap_or_else(|| Arc::new(facts));
            known.insert(Arc::clone(&facts));
            facts
        };
        let id = |case: &Case| case.id.strip_prefix(&prefix).unwrap_or(&case.id).to_owned();
        let (digest, each) = digests(cases);
        let recorded = cases
            .iter()
            .zip(each)
            .map(|(case, digest)| (id(case), (shared(CaseFacts::from_case(version, case)), digest)))
            .collect();
        self.versions.insert(version.since, VersionRecord { cases: recorded, digest });
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        let mut text = "# Written by `cargo xtask gen`: what op.yaml makes, for review; do not edit.\n".to_owned();
        let _ = writeln!(text, "source {}", self.source);
        for (since, VersionRecord { cases, digest }) in &self.versions {
            let _ = writeln!(text, "{since} {} {digest}", cases.len());
        }
        let known: BTreeSet<&CaseFacts> = self
            .versions
            .values()
            .flat_map(|version| version.cases.values())
            .map(|(facts, _)| facts.as_ref())
            .collect();
        let known: BTreeMap<&CaseFacts, usize> = known.into_iter().zip(1..).collect();
        text.push('\n');
        for (facts, number) in &known {
            let _ = writeln!(text, "{number} {facts}");
        }
        text.push('\n');
        let mut sinces: BTreeMap<(&str, &CaseFacts), Vec<u32>> = BTreeMap::new();
        for (since, recorded) in &self.versions {
            recorded.cases.iter().for_each(|(id, (facts, _))| sinces.entry((id, facts)).or_default().push(*since));
        }
        let mut groups: BTreeMap<(&str, Vec<u32>, usize), Vec<&str>> = BTreeMap::new();
        for ((id, facts), sinces) in sinces {
            let (stem, end) = id.split_at(id.rfind('/').map_or(0, |slash| slash + 1));
            let number = known.get(facts).copied().unwrap_or_default();
            groups.entry((stem, sinces, number)).or_default().push(end);
        }
        for ((stem, sinces, number), ends) in groups {
            let sinces: Vec<String> = sinces.iter().map(u32::to_string).collect();
            write_group(&mut text, &format!("{} {number} /{stem}", sinces.join(",")), &ends);
        }
        text.push('\n');
        for (since, recorded) in &self.versions {
            let digests: Vec<&CaseDigest> = recorded.cases.values().map(|(_, digest)| digest).collect();
            for line in digests.chunks(DIGESTS_PER_LINE) {
                let _ = write!(text, "{since} ");
                text.extend(line.iter().map(ToString::to_string));
                text.push('\n');
            }
        }
        text
    }

    /// Parses the file. Returns `None` if it is not a valid record, for example after a bad merge.
    pub fn parse(text: &str) -> Option<OperatorRecord> {
        let parts = RecordParts::split(text)?;
        let known = parts.facts.iter().map(|facts| Some(Arc::new(CaseFacts::parse(facts)?)));
        let known = known.collect::<Option<Vec<_>>>()?;
        let versions = parts.versions.iter().map(|version| {
            let mut facts_of = BTreeMap::new();
            for group in parts.groups.iter().filter(|group| group.sinces.contains(&version.since)) {
                let facts = known.get(group.facts)?;
                facts_of.extend(group.ids("").map(|id| (id, Arc::clone(facts))));
            }
            let digests = parts.digests(version.since)?;
            let is_complete = facts_of.len() == version.count && digests.len() == version.count;
            let cases = facts_of.into_iter().zip(digests).map(|((id, facts), digest)| (id, (facts, digest))).collect();
            is_complete.then(|| (version.since, VersionRecord { cases, digest: version.digest.to_owned() }))
        });
        let versions = versions.collect::<Option<_>>()?;
        let has = |since: &u32| parts.version(*since).is_some();
        let is_complete = parts.groups.iter().all(|group| group.sinces.iter().all(has) && group.facts < known.len());
        is_complete.then(|| OperatorRecord { source: parts.source.to_owned(), versions })
    }
}

/// Record split into sections, parsed lazily.
#[derive(Debug)]
pub(super) struct RecordParts<'a> {
    /// The digest of the source files of the cases.
    pub(super) source: &'a str,
    versions: Vec<VersionPart<'a>>,
    /// Facts about cases.
    facts: Vec<&'a str>,
    groups: Vec<IdGroup<'a>>,
    /// Lines of digests of cases, each with its version's since.
    digests: Vec<(u32, &'a str)>,
}

/// The line of a version.
#[derive(Debug)]
struct VersionPart<'a> {
    since: u32,
    count: usize,
    digest: &'a str,
}

/// A line of ids.
#[derive(Debug)]
struct IdGroup<'a> {
    sinces: Vec<u32>,
    /// Index of the facts of these cases.
    facts: usize,
    stem: &'a str,
    ends: &'a str,
}

impl<'a> RecordParts<'a> {
    /// Splits a text. Returns `None` if it is not a record.
    fn split(text: &'a str) -> Option<RecordParts<'a>> {
        let mut lines = text.lines();
        let (source, versions) = head(&mut lines)?;
        let mut facts = Vec::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let (number, known) = line.split_once(' ')?;
            facts.push(known);
            if number.parse() != Ok(facts.len()) {
                return None;
            }
        }
        let group = |line: &'a str| {
            let mut words = line.splitn(4, ' ');
            let sinces = words.next()?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
            let facts = words.next()?.parse::<usize>().ok()?.checked_sub(1)?;
            Some(IdGroup { sinces, facts, stem: words.next()?.strip_prefix('/')?, ends: words.next()? })
        };
        let groups = lines.by_ref().take_while(|line| !line.is_empty()).map(group).collect::<Option<_>>()?;
        let digests = lines.map(|line| {
            let (since, digests) = line.split_once(' ')?;
            Some((since.parse().ok()?, digests))
        });
        let digests = digests.collect::<Option<_>>()?;
        Some(RecordParts { source, versions, facts, groups, digests })
    }

    /// Splits the embedded record of an operator.
    pub(super) fn embedded(operator: &str) -> Option<RecordParts<'static>> {
        RecordParts::split(embedded_text(operator)?.1)
    }

    fn version(&self, since: u32) -> Option<&VersionPart<'a>> {
        self.versions.iter().find(|version| version.since == since)
    }

    /// Returns the digest of the cases of a version.
    pub(super) fn digest(&self, since: u32) -> Option<&'a str> {
        Some(self.version(since)?.digest)
    }

    /// Returns the digests of a version's cases, in the order of ids, or `None` if one is malformed.
    fn digests(&self, since: u32) -> Option<Vec<CaseDigest>> {
        let lines = self.digests.iter().filter(|(version, _)| *version == since);
        let starts =
            lines.flat_map(|(_, line)| (0..line.len()).step_by(CaseDigest::DIGITS).map(move |start| (line, start)));
        starts.map(|(line, start)| CaseDigest::parse(line.get(start..start + CaseDigest::DIGITS)?)).collect()
    }

    /// Returns the ids of a version's cases, sorted and prefixed with `name`, or `None` if their number is wrong.
    pub(super) fn ids(&self, name: &str, since: u32) -> Option<Vec<String>> {
        let count = self.version(since)?.count;
        let mut ids = Vec::with_capacity(count);
        for group in self.groups.iter().filter(|group| group.sinces.contains(&since)) {
            ids.extend(group.ids(&format!("{name}/")));
        }
        ids.sort_unstable();
        (ids.len() == count).then_some(ids)
    }
}

/// Reads the digest of the sources and the versions from the beginning of a record. Further lines remain.
fn head<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<(&'a str, Vec<VersionPart<'a>>)> {
    let source = lines.find(|line| !line.starts_with('#'))?.strip_prefix("source ")?;
    let version = |line: &'a str| {
        let mut words = line.split(' ');
        let (since, count) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(VersionPart { since, count, digest: words.next()? })
    };
    let versions = lines.take_while(|line| !line.is_empty()).map(version).collect::<Option<_>>()?;
    Some((source, versions))
}

impl IdGroup<'_> {
    fn ids(&self, prefix: &str) -> impl Iterator<Item = String> {
        let stem = [prefix, self.stem].concat();
        self.ends.split(' ').map(move |end| [&stem, end].concat())
    }
}

/// Returns the embedded records, by operator, sorted.
fn embedded_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let starts = std::iter::once(0).chain(ENDS.iter().map(|(_, end)| *end));
    ENDS.iter()
        .zip(starts)
        .map(|((operator, end), start)| (*operator, all_texts().get(start..*end).unwrap_or_default()))
}

/// Returns the embedded record of an operator, with its position.
fn embedded_text(operator: &str) -> Option<(usize, &'static str)> {
    let at = ENDS.binary_search_by_key(&operator, |(name, _)| name).ok()?;
    let start = at.checked_sub(1).and_then(|before| ENDS.get(before)).map_or(0, |(_, end)| *end);
    Some((at, all_texts().get(start..ENDS.get(at)?.1)?))
}

/// Returns the text of all records, decompressed once. A test checks that the packed text is complete.
fn all_texts() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = String::new();
        let read = ZlibDecoder::new(PACKED).read_to_string(&mut text);
        if read.is_ok() { text } else { String::new() }
    })
}

/// Returns the recorded cases of an operator version, or none if there is no record. A record is parsed once.
pub fn recorded_cases(version: &OperatorVersion) -> &'static [RecordedCase] {
    /// Cases by the opset that introduced the version.
    type Versions = BTreeMap<u32, Vec<RecordedCase>>;
    static READ: OnceLock<Vec<OnceLock<Versions>>> = OnceLock::new();
    let operator = format!("{}/{}", version.domain, version.name);
    let Some((at, _)) = embedded_text(&operator) else { return &[] };
    let cell = READ.get_or_init(|| ENDS.iter().map(|_| OnceLock::new()).collect()).get(at);
    let read = || {
        let cases = |(since, recorded): (u32, VersionRecord)| {
            let name = OperatorVersion::new(&version.domain, &version.name, since).qualified();
            let case = |(id, (facts, digest)): (String, _)| RecordedCase { id: format!("{name}/{id}"), facts, digest };
            (since, recorded.cases.into_iter().map(case).collect())
        };
        OperatorRecord::embedded(&operator).unwrap_or_default().versions.into_iter().map(cases).collect()
    };
    cell.and_then(|cell| cell.get_or_init(read).get(&version.since)).map_or(&[], Vec::as_slice)
}

/// Returns the releases later than the suite's whose texts decide the level of a recorded case.
pub fn later_texts() -> BTreeSet<TextRelease> {
    let facts = embedded_texts().filter_map(|(_, text)| RecordParts::split(text)).flat_map(|parts| parts.facts);
    let decided = facts.filter(|facts| facts.contains("..")).filter_map(|facts| CaseFacts::parse(facts)?.text);
    decided.flat_map(|decided| decided.texts.ends()).filter(|release| *release > TextRelease::newest()).collect()
}

/// Returns the path of the record of an operator.
pub(super) fn path_of(operator: &str) -> String {
    format!("records/{operator}.txt")
}

/// Returns the recorded digest of the cases of every operator version.
pub fn recorded_digests() -> impl Iterator<Item = (OperatorVersion, &'static str)> {
    embedded_texts().flat_map(|(operator, text)| {
        let (domain, name) = operator.split_once('/').unwrap_or(("", operator));
        let (_, versions) = head(&mut text.lines()).unwrap_or_default();
        versions.into_iter().map(|part| (OperatorVersion::new(domain, name, part.since), part.digest))
    })
}

/// Returns a digest of the cases and the op.yaml of every operator version. Those whose record was made from other files than the
/// embedded ones are omitted.
pub fn digests_with_sources() -> impl Iterator<Item = (OperatorVersion, String)> {
    embedded_texts().flat_map(|(operator, text)| {
        let (domain, name) = operator.split_once('/').unwrap_or(("", operator));
        let (source, versions) = head(&mut text.lines()).unwrap_or_default();
        let versions = if source == digest_of_sources(operator) { versions } else { Vec::new() };
        versions
            .into_iter()
            .map(move |part| (OperatorVersion::new(domain, name, part.since), digest_of_texts([source, part.digest])))
    })
}

/// Returns the digest of the embedded files that decide the ids of an operator's cases: its own, and the shared ones.
pub(super) fn digest_of_sources(operator: &str) -> String {
    let folder = format!("{operator}/");
    let first = embedded::FILES.partition_point(|(path, _)| *path < folder.as_str());
    let own = embedded::FILES.iter().skip(first).take_while(|(path, _)| path.starts_with(&folder));
    let own = own.map(|(_, text)| *text);
    let shared = ["recipes.yaml", "types.yaml"].into_iter().filter_map(embedded::file);
    digest_of_texts(own.chain(shared))
}

/// Returns the operators with an embedded op.yaml.
fn operators() -> impl Iterator<Item = &'static str> {
    let files = embedded::FILES.iter().filter_map(|(path, _)| case_file(path));
    files.filter(|(_, kind)| *kind == CaseFileKind::Main).map(|(operator, _)| operator)
}

/// Makes all cases of the embedded op.yaml files, and returns every current record by its path, with that of wrapped cases.
pub fn records() -> Result<Vec<(String, String)>, GenerateError> {
    let all: Vec<&str> = operators().collect();
    let record = |operator: &&str| Ok((path_of(operator), record(OperatorCatalog::shared(), operator)?));
    let made = map_items(None, &all, record).into_iter().collect::<Result<Vec<_>, GenerateError>>()?;
    let (mut records, mut wrapped) = (Vec::new(), Vec::new());
    for (path, (record, ids)) in made {
        records.push((path, record.to_text()));
        wrapped.extend(ids);
    }
    records.push((wrapped_record::PATH.to_owned(), wrapped_record::record_text(wrapped)));
    Ok(records)
}

/// Returns the paths of embedded records that do not belong to the embedded files.
pub fn stale_records() -> Vec<String> {
    let is_stale = |operator: &&str| {
        OperatorRecord::embedded(operator).is_none_or(|index| index.source != digest_of_sources(operator))
    };
    let has_file = |operator: &&str| embedded::file(&format!("{operator}/op.yaml")).is_some();
    let without_file = ENDS.iter().map(|(operator, _)| *operator).filter(|operator| !has_file(operator));
    operators().filter(is_stale).chain(without_file).map(path_of).collect()
}

/// Returns the record of an operator, and the ids of its wrapped cases.
fn record(files: &OperatorCatalog, operator: &str) -> Result<(OperatorRecord, Vec<String>), GenerateError> {
    let (domain, name) = operator.split_once('/').unwrap_or(("", operator));
    let (mut record, mut wrapped) = (OperatorRecord::new(operator), Vec::new());
    for since in Specs::embedded().versions(domain, name) {
        let version = OperatorVersion::new(domain, name, since);
        files.check_whole(&version)?;
        let cases = cases(files, &version, &|_| true)?;
        record.add(&version, &cases);
        wrapped.extend(wrapped_record::select(&version, &cases));
    }
    Ok((record, wrapped))
}

/// Writes the ends of ids after their prefix, on as many lines as needed.
fn write_group(text: &mut String, head: &str, ends: &[&str]) {
    text.push_str(head);
    let mut column = head.len();
    let mut is_first = true;
    for end in ends {
        if !is_first && column + 1 + end.len() > WIDTH {
            let _ = write!(text, "\n{head}");
            column = head.len();
        }
        let _ = write!(text, " {end}");
        column += 1 + end.len();
        is_first = false;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(ids: &[&str]) -> VersionRecord {
        let facts = |id: &str| {
            Arc::new(CaseFacts::parse(if id == "b/c" { "open edge; mode=cubic rank=2" } else { "required" }).unwrap())
        };
        let digest = CaseDigest::parse("0a1b2c").unwrap();
        VersionRecord {
            cases: ids.iter().map(|&id| (id.to_owned(), (facts(id), digest))).collect(),
            digest: "0123".to_owned(),
        }
    }

    #[test]
    fn a_written_record_reads_back() {
        let many: Vec<String> = (0..40).map(|number| format!("many/T={number}")).collect();
        let mut first = recorded(&["literal", "whole/T=float", "whole/T=int8"]);
        let facts = first.cases["literal"].clone();
        first.cases.extend(many.into_iter().map(|id| (id, facts.clone())));
        let index = OperatorRecord {
            source: "89ab".to_owned(),
            versions: [(1, first), (13, recorded(&["literal", "whole/T=float"])), (21, recorded(&[]))].into(),
        };
        let text = index.to_text();
        assert_eq!(OperatorRecord::parse(&text), Some(index));
        assert!(text.contains("\n13 2 0123\n21 0 0123\n\n1 required\n\n1,13 1 / literal\n"), "{text}");
        assert!(text.contains("\n1,13 1 /whole/ T=float\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn changed_cases_are_new_or_have_another_digest_or_a_stricter_level() {
        let before = recorded(&["a", "b/c", "gone"]);
        let mut after = recorded(&["a", "b/c", "new"]);
        assert_eq!(after.changed_since(&before), BTreeSet::from(["new"]));
        after.cases.get_mut("a").unwrap().1 = CaseDigest::parse("0a1b2d").unwrap();
        assert_eq!(after.changed_since(&before), BTreeSet::from(["a", "new"]));
        after.cases.insert("b/c".to_owned(), before.cases["a"].clone());
        assert_eq!(after.changed_since(&before), BTreeSet::from(["a", "b/c", "new"]));
        assert!(before.changed_since(&after).contains("gone") && !before.changed_since(&after).contains("b/c"));
    }

    #[test]
    fn every_record_is_found() {
        assert!(ENDS.len() > 200 && ENDS.iter().all(|(operator, _)| OperatorRecord::embedded(operator).is_some()));
        let abs = OperatorRecord::embedded("ai.onnx/Abs").unwrap();
        let digests: Vec<(OperatorVersion, &str)> = recorded_digests().collect();
        for (since, version) in abs.versions {
            assert!(digests.contains(&(OperatorVersion::new("ai.onnx", "Abs", since), version.digest.as_str())));
        }
        assert!(digests.len() > 600 && digests.iter().all(|(_, digest)| digest.len() == 16), "{}", digests.len());
        let with_sources: BTreeSet<OperatorVersion> = digests_with_sources().map(|(version, _)| version).collect();
        let all: BTreeSet<OperatorVersion> = digests.iter().map(|(version, _)| version.clone()).collect();
        assert_eq!(with_sources, all, "records are stale; run `cargo xtask gen`");
    }

    #[test]
    fn a_truncated_index_is_refused() {
        let index = OperatorRecord { source: "89ab".to_owned(), versions: [(1, recorded(&["a", "b/c"]))].into() };
        let text = index.to_text();
        assert_eq!(OperatorRecord::parse(&text.replace("1 2 /b/ c\n", "")), None);
        assert_eq!(OperatorRecord::parse(&text.replace("0a1b2c0a1b2c", "0a1b2c0a1b2")), None);
        assert_eq!(OperatorRecord::parse(&text.replace("0a1b2c0a1b2c", "0a1b2c")), None);
        assert_eq!(OperatorRecord::parse(""), None);
        assert_eq!(OperatorRecord::parse("<<<<<<<"), None);
    }
}
