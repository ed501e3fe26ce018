//! `docs/errata.md`: the changes of texts under fixed version numbers, by release, with the findings that quote a new sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use onnx_conformance_cases::case::{TextLevel, TextRelease};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_harness::findings::{Finding, Findings, Proof};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use super::changes::Change;
use super::history::{self, ReleaseChanges};
use super::standard::version;

/// Words that a sentence keeps before and after the words that changed.
const CONTEXT: usize = 8;

/// Words of the longest text that is shown whole.
const MAX_WORDS: usize = 100;

/// Sign for omitted words.
const OMITTED: &str = "…";

/// Generates the page.
pub(crate) fn page() -> Result<String> {
    let (history, findings, mut decided) = (history::read()?, Findings::embedded()?, decided()?);
    let mut page = String::from(include_str!("errata_head.md"));
    page += "| release | operator versions | changes | removed | added | replaced |\n|---|--:|--:|--:|--:|--:|\n";
    // The release that changed most recently is read most.
    let changed = || history.iter().rev().filter(|release| !release.changes.is_empty());
    for release in changed() {
        page += &summary(release);
    }
    let unchanged: Vec<&str> =
        history.iter().filter(|it| it.changes.is_empty()).map(|release| release.release.as_str()).collect();
    let _ = writeln!(page, "\nNo text changed under a fixed number in {}.", unchanged.join(", "));
    let newest = TextRelease::newest();
    for (release, cases) in decided.iter().rev().filter(|(release, _)| **release > newest) {
        let _ = writeln!(
            page,
            "\n## ONNX {release}\n\nThis release is later than the suite's, and its sentences are not listed yet."
        );
        page += &decided_cases(cases);
    }
    decided.retain(|release, _| *release <= newest);
    for ReleaseChanges { release, after, changes } in changed() {
        let _ = writeln!(page, "\n## ONNX {release}\n\nChanges since {after}:\n");
        for change in changes {
            page += &entry(change, findings.all());
        }
        if let Some(cases) = decided.remove(&release.parse()?) {
            page += &decided_cases(&cases);
        }
    }
    if let Some((release, cases)) = decided.first_key_value() {
        let names: Vec<&str> = cases.keys().map(|(operator, _, _)| operator.as_str()).collect();
        bail!(
            "specs/{}/op.yaml has `text` with {release}, a release that changed no text; docs/errata.md lists those that did",
            names.join(", ")
        );
    }
    Ok(page)
}

/// Operator, level and reason of cases and refusals whose level a text decides, with their names.
type DecidedCases = BTreeMap<(String, TextLevel, String), Vec<String>>;

/// Returns the cases whose level a text decides, by the release that does.
fn decided() -> Result<BTreeMap<TextRelease, DecidedCases>> {
    let (specs, catalog) = (Specs::embedded(), OperatorCatalog::embedded());
    let mut decided: BTreeMap<TextRelease, DecidedCases> = BTreeMap::new();
    let operators = specs.domains().flat_map(|domain| specs.operators(domain).map(move |name| (domain, name)));
    for (domain, name) in operators {
        let Some(since) = specs.versions(domain, name).last() else { continue };
        let version = OperatorVersion::new(domain, name, since);
        let file = if catalog.has(&version) { catalog.get(&version)? } else { continue };
        let reason = |why: &str, constraint: Option<&str>, note: &str| {
            let of_rule = constraint.and_then(|id| file.constraints.get(id)).map_or("", |rule| rule.note.as_str());
            [why, of_rule, note].into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
        };
        let cases = file.cases.iter().filter_map(|case| {
            let reason = reason(&case.why, case.constraint.as_deref(), &case.note);
            Some((case.text_level()?, reason, case.name.clone()))
        });
        let refusals = file.refuse.iter().filter_map(|refusal| {
            let reason = reason(&refusal.why, refusal.constraint.as_deref(), &refusal.note);
            Some((refusal.text_level()?, reason, format!("refuse/{}", refusal.name)))
        });
        for (level, reason, case) in cases.chain(refusals) {
            for release in level.texts.ends() {
                let key = (format!("{domain}/{name}"), level, reason.clone());
                decided.entry(release).or_default().entry(key).or_default().push(case.clone());
            }
        }
    }
    Ok(decided)
}

/// Formats the cases that a release decides.
fn decided_cases(cases: &DecidedCases) -> String {
    let mut text = String::from("\nCases that this release decides:\n\n");
    for ((operator, level, reason), names) in cases {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "- `{operator}`: {}: {level}. {}", names.join(", "), escaped(reason.trim_end()));
    }
    text
}

/// Formats the row of a release.
fn summary(release: &ReleaseChanges) -> String {
    let changes = &release.changes;
    let versions: BTreeSet<&str> =
        changes.iter().flat_map(|change| &change.places).filter_map(|(place, _)| version(place)).collect();
    let count = |is_counted: fn(&Change) -> bool| changes.iter().filter(|change| is_counted(change)).count();
    let removed = count(|change| change.added.is_empty());
    let added = count(|change| change.removed.is_empty());
    let anchor = release.release.replace('.', "");
    format!(
        "| [{}](#onnx-{anchor}) | {} | {} | {removed} | {added} | {} |\n",
        release.release,
        versions.len(),
        changes.len(),
        changes.len() - removed - added
    )
}

/// Formats a change with the findings that it decides.
fn entry<'a>(change: &Change, findings: impl Iterator<Item = &'a Finding>) -> String {
    let is_body = change.places.iter().all(|(place, _)| part(place).starts_with("body"));
    let [before, after] = shortened(&change.removed.join(" "), &change.added.join(" "));
    let [before, after] = if is_body {
        [&change.removed, &change.added]
            .map(|nodes| nodes.iter().map(|node| format!("`{node}`")).collect::<Vec<_>>().join("; "))
    } else {
        [escaped(&before), escaped(&after)]
    };
    let mut text = format!("- {}\n", places(change));
    // Writing to a string does not fail.
    let _ = match (before.as_str(), after.as_str()) {
        (removed, "") => writeln!(text, "  - removed: {removed}"),
        ("", added) => writeln!(text, "  - added: {added}"),
        (before, after) => writeln!(text, "  - before: {before}\n  - after: {after}"),
    };
    let quoting: Vec<String> = findings.filter(|finding| quotes(finding, change)).map(link).collect();
    if !quoting.is_empty() {
        let _ = writeln!(text, "  - decides {}", quoting.join("; "));
    }
    text
}

/// Formats a finding with its cases.
fn link(finding: &Finding) -> String {
    let cases: Vec<String> = finding.cases.iter().map(|pattern| format!("`{pattern}`")).collect();
    format!("finding `{}` with the cases {}", finding.full_id(), cases.join(", "))
}

/// Returns the part of a place: `input X`; empty for the documentation of the version.
fn part(place: &str) -> &str {
    place.split_once(' ').map_or("", |(_, part)| part)
}

/// Formats the places of a change, by part: **Pad-19,21**, attribute `mode`.
fn places(change: &Change) -> String {
    let mut by_part: BTreeMap<&str, BTreeMap<String, BTreeSet<u32>>> = BTreeMap::new();
    for (place, _) in &change.places {
        let parsed = version(place).and_then(|version| version.parse::<OperatorVersion>().ok());
        let Some(OperatorVersion { domain, name, since }) = parsed else { continue };
        let operator = if domain == "ai.onnx" { name } else { format!("{domain}/{name}") };
        by_part.entry(part(place)).or_default().entry(operator).or_default().insert(since);
    }
    let group = |(part, operators): (&str, BTreeMap<String, BTreeSet<u32>>)| {
        let names: Vec<String> = operators
            .iter()
            .map(|(operator, versions)| {
                let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
                format!("**{operator}-{}**", versions.join(","))
            })
            .collect();
        let part = part.split_once(' ').map_or(String::new(), |(kind, name)| match kind {
            "body" => format!(", function body for opset {name}"),
            kind => format!(", {kind} `{name}`"),
        });
        format!("{}{part}", names.join(", "))
    };
    by_part.into_iter().map(group).collect::<Vec<_>>().join("; ")
}

/// Returns true if a finding about one of the versions quotes words that the change added.
fn quotes(finding: &Finding, change: &Change) -> bool {
    let Proof::Quote(quote) = &finding.proof else { return false };
    let of_sample = || finding.sample.split('/').take(2).collect::<Vec<_>>().join("/");
    let source = quote.from.clone().unwrap_or_else(of_sample);
    let is_source = |(place, _): &(String, usize)| version(place) == Some(source.as_str());
    let [removed, added] = [&change.removed, &change.added].map(|sentences| sentences.join(" "));
    let is_new = |piece: &str| {
        let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        !piece.is_empty() && added.contains(&piece) && !removed.contains(&piece)
    };
    change.places.iter().any(is_source) && quote.says.split(" ... ").any(is_new)
}

/// Omits the common words at the beginning and at the end of both texts, except a few, and truncates texts that are
/// still too long.
fn shortened(before: &str, after: &str) -> [String; 2] {
    let [before, after] =
        [before, after].map(|text| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    let shorter = before.len().min(after.len());
    let start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let end = end.min(shorter - start);
    let (skipped, cut) = (start.saturating_sub(CONTEXT), end.saturating_sub(CONTEXT));
    [before, after].map(|words| {
        let mut kept: Vec<&str> = words[skipped..words.len() - cut].to_vec();
        let omitted = kept.len().saturating_sub(MAX_WORDS);
        kept.truncate(MAX_WORDS);
        let mut text = if skipped > 0 { format!("{OMITTED} {}", kept.join(" ")) } else { kept.join(" ") };
        if omitted > 0 {
            let _ = write!(text, " {OMITTED} ({omitted} more words)");
        } else if cut > 0 {
            let _ = write!(text, " {OMITTED}");
        }
        text
    })
}

/// Escapes the characters that mark up text.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "\\`*_[]<>|~#&$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    // Links of upstream's pages lead nowhere here, so they are text for readers of the source, too.
    escaped.replace("\\](", "\\]\\(")
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::Level;

    fn change(places: &[&str], removed: &[&str], added: &[&str]) -> Change {
        let sentences = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        Change {
            places: places.iter().map(|place| ((*place).to_owned(), 1)).collect(),
            removed: sentences(removed),
            added: sentences(added),
        }
    }

    #[test]
    fn places_are_joined_by_part_and_operator() {
        let change = change(
            &["ai.onnx/Abs-6", "ai.onnx/Abs-13", "ai.onnx.ml/Scaler-1 input X", "ai.onnx/Relu-14 body 18"],
            &["a"],
            &[],
        );
        let shown = "**Abs-6,13**; **Relu-14**, function body for opset 18; **ai.onnx.ml/Scaler-1**, input `X`";
        assert_eq!(places(&change), shown);
    }

    #[test]
    fn an_entry_says_what_was_removed_added_and_replaced() {
        let entry =
            |removed: &[&str], added: &[&str]| entry(&change(&["ai.onnx/Abs-6"], removed, added), [].into_iter());
        assert_eq!(entry(&["a_b"], &[]), "- **Abs-6**\n  - removed: a\\_b\n");
        assert_eq!(escaped("[a](b.md)"), r"\[a\]\(b.md)");
        assert_eq!(entry(&[], &["c", "d"]), "- **Abs-6**\n  - added: c d\n");
        assert_eq!(entry(&["a"], &["b"]), "- **Abs-6**\n  - before: a\n  - after: b\n");
        let body = change(&["ai.onnx/Abs-6 body 6"], &["y = A (x)"], &["y = B (x)"]);
        let shown = super::entry(&body, [].into_iter());
        assert!(shown.ends_with("before: `y = A (x)`\n  - after: `y = B (x)`\n"), "{shown}");
    }

    #[test]
    fn a_case_is_named_at_each_end_of_its_texts() {
        let all = decided().unwrap();
        let is_zeros = |((operator, _, reason), names): (&(String, TextLevel, String), &Vec<String>)| {
            operator == "ai.onnx/DynamicQuantizeLinear" && *names == ["zeros"] && reason.contains("divide 0 by it")
        };
        let zeros = all.iter().filter(|(_, cases)| cases.iter().any(is_zeros));
        assert_eq!(zeros.map(|(release, _)| release.to_string()).collect::<Vec<_>>(), ["1.24.0"]);
        let level = TextLevel { level: Level::Required, texts: "1.10.0..1.18.0".parse().unwrap() };
        let key = ("ai.onnx/Abs".to_owned(), level, "A [b].".to_owned());
        let shown = decided_cases(&[(key, vec!["a".to_owned(), "refuse/b".to_owned()])].into());
        let entry = format!("- `ai.onnx/Abs`: `a`, `refuse/b`: {level}. A \\[b\\].\n");
        assert_eq!(shown, format!("\nCases that this release decides:\n\n{entry}"));
    }

    #[test]
    fn words_that_stay_are_omitted() {
        let words = |count| (0..count).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
        let [before, after] =
            shortened(&format!("{} old {}", words(20), words(3)), &format!("{} new {}", words(20), words(3)));
        assert_eq!(before, "… w12 w13 w14 w15 w16 w17 w18 w19 old w0 w1 w2");
        assert_eq!(after, "… w12 w13 w14 w15 w16 w17 w18 w19 new w0 w1 w2");
        let [_, long] = shortened("", &words(130));
        assert!(long.ends_with("w99 … (30 more words)"), "{long}");
        assert_eq!(shortened("a a", "a a a"), ["a a", "a a a"]);
    }

    /// Findings on the operators whose texts changed quote today's sentences, and some of these are newer than the
    /// version.
    #[test]
    fn a_finding_is_decided_by_the_change_that_added_its_quote() {
        let history = history::read().unwrap();
        let findings = Findings::embedded().unwrap();
        let changes = || history.iter().flat_map(|release| &release.changes);
        let decided = findings.all().filter(|finding| changes().any(|change| quotes(finding, change))).count();
        assert!(decided > 0);
    }
}
