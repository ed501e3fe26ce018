//! Definition of an operator version on one page: signature, formula, shape, changes, and rules with examples.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use onnx_conformance_cases::case::{Level, TextLevel};
use onnx_conformance_cases::generate::{
    CaseFile, ConstraintFile, OperatorCatalog, OperatorFile, RefusalFile, RuleOf, ids,
};
use onnx_conformance_cases::suite::recorded_cases;
use onnx_conformance_harness::escape::line;
use onnx_conformance_reference::spec::{MeaningChange, OpSpec, OperatorVersion, Specs};

use crate::colours::{BOLD, DIM};
use crate::operator::{DescribeError, changes, head, parameters};
use crate::site::CaseName;

/// Maximum length of an example in bytes.
const MAX_LENGTH: usize = 240;

/// Maximum number of words of the first example and its remark; if it has more, a shorter example is shown.
const SHORT: usize = 30;

/// Prints the page of a version in colour.
pub fn specify(version: &OperatorVersion) -> Result<String, DescribeError> {
    let specs = Specs::embedded();
    let (spec, catalog) = (specs.get(version)?, OperatorCatalog::shared());
    let file = catalog.get(version)?;
    let mut text = head(version, file)?;
    let sinces: Vec<u32> = specs.versions(&version.domain, &version.name).collect();
    definition(&mut text, version, file, sinces.last().copied().unwrap_or(version.since));
    parameters(&mut text, spec);
    changes(&mut text, version, &sinces)?;
    let recorded = recorded_cases(version);
    // A version of the next release has no record.
    let planned = if recorded.is_empty() { ids(catalog, version)? } else { Vec::new() };
    let prefix = format!("{}/", version.qualified());
    let all = recorded.iter().map(|case| &case.id).chain(&planned);
    let names = all.map(|id| id.strip_prefix(&prefix).unwrap_or(id));
    let behaviours = names.map(|name| CaseName::parse(name, spec).behaviour);
    let page = Page { version, file, behaviours: behaviours.collect() };
    let mut reasons = BTreeMap::new();
    let _ = writeln!(text, "\n{BOLD}rules{BOLD:#}");
    for (parameter, rules) in page.groups(spec) {
        let _ = writeln!(text, "  {parameter}");
        for rule in rules {
            page.rule(&mut text, rule, &mut reasons);
        }
    }
    let _ = writeln!(text, "\n{DIM}all cases: onnx-conformance list '{}/**'{DIM:#}", version.qualified());
    Ok(text)
}

/// Adds formula, shape and note. Formula and shape are those of the newest version, so a version that a later change
/// gave another meaning has the changes instead.
fn definition(text: &mut String, version: &OperatorVersion, file: &OperatorFile, newest: u32) {
    let name = version.name.as_str();
    let later = || file.changes.0.range(version.since + 1..);
    let later = || later().flat_map(|(since, changes)| changes.iter().map(move |change| (since, change)));
    let said = |(since, change): (&u32, &MeaningChange)| match &change.was {
        Some(was) => format!("{name}-{since}: {} Before, {was}.", change.says),
        None => format!("{name}-{since}: {}", change.says),
    };
    let other: Vec<String> = later().filter(|(_, change)| change.was.is_some()).map(said).collect();
    let added: Vec<String> = later().map(said).collect();
    let formula: Vec<String> = file.formula.lines().map(str::to_owned).collect();
    let shape: Vec<String> = file.shape.lines().map(str::to_owned).collect();
    match (other.is_empty(), added.is_empty()) {
        (true, true) => {
            paragraph(text, "formula", &formula);
            paragraph(text, "shape", &shape);
        }
        (true, false) => {
            paragraph(text, &format!("formula of {name}-{newest}"), &formula);
            paragraph(text, &format!("shape of {name}-{newest}"), &shape);
            paragraph(text, &format!("not in formula and shape of {version}"), &added);
        }
        (false, _) if formula.is_empty() && shape.is_empty() => {}
        (false, _) => {
            let head = format!("not stated for {version}; that of {name}-{newest} does not hold before these changes:");
            paragraph(text, "formula and shape", &[vec![head], other].concat());
        }
    }
    paragraph(text, "note", &file.note.lines().map(str::to_owned).collect::<Vec<_>>());
}

/// Adds lines under a title; nothing if there are none.
fn paragraph(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{BOLD}{title}{BOLD:#}");
    for content in lines {
        let _ = writeln!(text, "  {}", line(content));
    }
}

/// Sources of a page.
struct Page<'a> {
    version: &'a OperatorVersion,
    file: &'a OperatorFile,
    /// Names of the version's cases, without types and alternatives.
    behaviours: BTreeSet<&'a str>,
}

/// A case or refusal of a rule.
struct Entry<'a> {
    is_refusal: bool,
    name: &'a str,
    level: Level,
    /// The level that the texts of some releases give it.
    text_level: Option<TextLevel>,
    /// The reason for a level below required.
    why: &'a str,
    /// The remark for readers.
    note: &'a str,
    /// The case in one line, if it states its outputs.
    example: Option<String>,
    /// True if the case is about special values, or its model has other nodes too.
    is_special: bool,
}

impl<'a> Entry<'a> {
    fn of_case(case: &'a CaseFile) -> Entry<'a> {
        let CaseFile { name, level, why, note, .. } = case;
        let (text_level, example) = (case.text_level(), case.example());
        let is_special = case.edge || case.nodes.is_some();
        Entry { is_refusal: false, name, level: *level, text_level, why, note, example, is_special }
    }

    fn of_refusal(refusal: &'a RefusalFile) -> Entry<'a> {
        let RefusalFile { name, level, why, note, .. } = refusal;
        let (text_level, example) = (refusal.text_level(), Some(refusal.example()));
        Entry { is_refusal: true, name, level: *level, text_level, why, note, example, is_special: false }
    }

    /// Returns the rank as an example: required cases before others, plain before special ones, long ones by length.
    fn rank(&self) -> (bool, bool, usize) {
        let texts = [self.example.as_deref().unwrap_or_default(), self.why, self.note];
        let words: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
        (self.level != Level::Required, self.is_special, words.max(SHORT))
    }
}

/// A rule and its id.
type Rule<'a> = (&'a str, &'a ConstraintFile);

impl<'a> Page<'a> {
    /// Returns the rules of the version by the first parameter that each is about, in the order of the signature.
    fn groups(&self, spec: &'a OpSpec) -> Vec<(&'a str, Vec<Rule<'a>>)> {
        let names = spec.inputs.iter().map(|formal| formal.name.as_str());
        let names = names.chain(spec.attributes.keys().map(String::as_str));
        let names = names.chain(spec.outputs.iter().map(|formal| formal.name.as_str())).chain(["types"]);
        let mut groups: Vec<(&str, Vec<Rule<'_>>)> = vec![("the operator", Vec::new())];
        groups.extend(names.map(|name| (name, Vec::new())));
        for (id, rule) in &self.file.constraints.0 {
            if !self.applies(id, rule, |name| groups.iter().any(|(group, _)| *group == name)) {
                continue;
            }
            let position = rule.about.iter().find_map(|name| groups.iter().position(|(group, _)| group == name));
            if let Some((_, rules)) = groups.get_mut(position.unwrap_or_default()) {
                rules.push((id, rule));
            }
        }
        groups.retain(|(_, rules)| !rules.is_empty());
        groups
    }

    /// Returns true if a rule is one of the version: the version has a case of it, or one of its parameters if no version
    /// has a case.
    fn applies(&self, id: &str, rule: &ConstraintFile, has: impl Fn(&str) -> bool) -> bool {
        match rule.rule_of {
            Some(RuleOf::From(since)) => return since <= self.version.since,
            Some(RuleOf::Before(since)) => return self.version.since < since,
            None => {}
        }
        if self.of_rule(id).next().is_some() {
            return self.of_rule(id).any(|entry| self.has(&entry));
        }
        rule.about.is_empty() || rule.about.iter().any(|name| has(name))
    }

    /// Returns the cases of a rule, then its refusals.
    fn of_rule(&self, id: &str) -> impl Iterator<Item = Entry<'a>> {
        let is_own = move |constraint: &Option<String>| constraint.as_deref() == Some(id);
        let cases = self.file.cases.iter().filter(move |case| is_own(&case.constraint)).map(Entry::of_case);
        let refusals = self.file.refuse.iter().filter(move |refusal| is_own(&refusal.constraint));
        cases.chain(refusals.map(Entry::of_refusal))
    }

    /// Returns true if the version has a case or refusal.
    fn has(&self, entry: &Entry<'_>) -> bool {
        let prefixes: &[&str] = if entry.is_refusal { &["refuse/"] } else { &["", "large/"] };
        prefixes.iter().any(|prefix| self.behaviours.contains(format!("{prefix}{}", entry.name).as_str()))
    }

    /// Adds a rule with an example of a case and one of a refusal. The formula is at the head of the page already.
    /// `reasons` has the reasons above, each with its rule.
    fn rule(&self, text: &mut String, (id, rule): Rule<'a>, reasons: &mut BTreeMap<&'a str, &'a str>) {
        let entries = self.of_rule(id).filter(|entry| self.has(entry));
        let (refusals, cases): (Vec<Entry<'_>>, Vec<Entry<'_>>) = entries.partition(|entry| entry.is_refusal);
        let mut decided: BTreeMap<TextLevel, Vec<&str>> = BTreeMap::new();
        for entry in cases.iter().chain(&refusals) {
            if let Some(level) = entry.text_level {
                decided.entry(level).or_default().push(entry.name);
            }
        }
        let says = if rule.says == self.file.formula { "" } else { rule.says.as_str() };
        let counts = [count(&cases, ["case", "cases"]), count(&refusals, ["refusal", "refusals"])];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let counts = if counts.is_empty() { counts } else { format!(" ({counts})") };
        let head = format!("    {id}  {}", line(says));
        let _ = writeln!(text, "{}{counts}", head.trim_end());
        if !rule.note.is_empty() {
            let _ = writeln!(text, "        {}", line(&rule.note));
        }
        for (level, names) in decided {
            let _ = writeln!(text, "        {level}: {}", line(&names.join(", ")));
        }
        for entries in [&cases, &refusals] {
            let is_short = |text: &&str| text.len() <= MAX_LENGTH;
            let examples = entries.iter().filter_map(|entry| Some((entry, entry.example.as_deref().filter(is_short)?)));
            let Some((entry, example)) = examples.min_by_key(|(entry, _)| entry.rank()) else { continue };
            let _ = writeln!(text, "        {DIM}{}: {}{DIM:#}", entry.name, line(example));
            let level = (entry.level != Level::Required).then(|| entry.level.to_string());
            let above = reasons.get(entry.why).map(|above| format!("as {above}"));
            if !entry.why.is_empty() {
                reasons.entry(entry.why).or_insert(id);
            }
            let why = above.as_deref().unwrap_or(entry.why);
            let remarks = [level.as_deref().unwrap_or_default(), why, entry.note];
            let remarks: Vec<&str> = remarks.into_iter().filter(|remark| !remark.is_empty()).collect();
            if !remarks.is_empty() {
                let _ = writeln!(text, "          {DIM}{}{DIM:#}", line(&remarks.join(": ")));
            }
        }
    }
}

/// Counts cases, with the number of those below required by level: `7 cases, 2 recommended`.
fn count(cases: &[Entry<'_>], [one, many]: [&str; 2]) -> Option<String> {
    let noun = if cases.len() == 1 { one } else { many };
    let first = cases.first()?.level;
    if first != Level::Required && cases.iter().all(|case| case.level == first) {
        return Some(format!("{} {first} {noun}", cases.len()));
    }
    let mut text = format!("{} {noun}", cases.len());
    for level in [Level::Recommended, Level::Open] {
        let number = cases.iter().filter(|case| case.level == level).count();
        if number > 0 {
            let _ = write!(text, ", {number} {level}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::spec::{OperatorVersion, Specs};

    use super::specify;

    fn page(name: &str, since: u32) -> String {
        let page = specify(&OperatorVersion::new("ai.onnx", name, since)).unwrap();
        anstream::adapter::strip_str(&page).to_string()
    }

    #[test]
    fn a_page_has_what_holds_at_its_version() {
        let oldest = page("Resize", 10);
        for part in [
            "Before, element x of the output read x / scale.",
            "linear_of_equal_elements_without_coordinates: X",
            "\n    C17  ",
        ] {
            assert!(oldest.contains(part), "no {part:?} in\n{oldest}");
        }
        for part in ["cubic_coeff_a", "\n    C2  ", "\n    C13  ", "nearest_by_scales", "axis by axis"] {
            assert!(!oldest.contains(part), "{part:?} in\n{oldest}");
        }
    }

    #[test]
    fn a_formula_of_a_later_version_says_what_is_added() {
        let newest = Specs::embedded().versions("", "Resize").last().unwrap();
        let page = page("Resize", 18);
        assert!(page.contains(&format!("\nformula of Resize-{newest}\n  axis by axis")), "{page}");
        let added = "\nnot in formula and shape of Resize-18\n  Resize-19: Adds the coordinate transformation";
        assert!(page.contains(added), "{page}");
    }
}
