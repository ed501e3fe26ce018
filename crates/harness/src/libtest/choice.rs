//! Selection of cases from the command line of a test binary.

use std::collections::BTreeSet;

use onnx_conformance_cases::case::{CaseId, Variant};
use onnx_conformance_cases::suite::{CaseGroup, Filter, Source, Suite, SuiteError};

use crate::libtest::arguments::Arguments;

/// A group to run.
pub(super) struct Choice {
    /// Name of its trial.
    pub(super) name: String,
    pub(super) source: &'static (dyn Source + Send),
    pub(super) group: CaseGroup,
    /// The cases to run, or `None` for all.
    pub(super) part: Option<Part>,
}

/// Cases selected by the command line.
pub(super) struct Part {
    /// A case id, or an id prefix.
    text: String,
    is_exact: bool,
    /// Variant in the id, if it has one.
    pub(super) variant: Option<Variant>,
}

impl Part {
    /// Returns true if a case is selected.
    pub(super) fn includes(&self, id: &str) -> bool {
        if self.is_exact { id == self.text } else { id.starts_with(&self.text) }
    }
}

/// Returns the groups from which the filters of the command line select: those that the patterns of the crate select,
/// and the groups of the cases that the command line names.
pub(super) fn choose(suite: &'static Suite, filter: &Filter, arguments: &Arguments) -> Result<Vec<Choice>, SuiteError> {
    let whole = |(source, group): (&'static (dyn Source + Send), CaseGroup)| Choice {
        name: group.name.clone(),
        source,
        group,
        part: None,
    };
    let mut chosen = Vec::new();
    if arguments.exact && !arguments.filters.is_empty() {
        // A complete name is found without listing everything.
        for name in arguments.filters.iter().collect::<BTreeSet<_>>() {
            match suite.find_group(name)? {
                Some(group) => chosen.push(whole(group)),
                None => chosen.extend(named(suite, name, true)?),
            }
        }
        return Ok(chosen);
    }
    let groups: Vec<_> = if filter.is_everything() {
        suite.groups()?
    } else {
        suite.choose(filter)?.into_iter().map(|(source, group, _)| (source, group)).collect()
    };
    for text in arguments.filters.iter().collect::<BTreeSet<_>>() {
        if !groups.iter().any(|(_, group)| group.name.contains(text.as_str())) {
            chosen.extend(named(suite, text, false)?);
        }
    }
    chosen.extend(groups.into_iter().map(whole));
    Ok(chosen)
}

/// Returns the group of the case that a text names, as a trial with that name.
fn named(suite: &'static Suite, text: &str, is_exact: bool) -> Result<Option<Choice>, SuiteError> {
    let CaseId { path: id, variant } = CaseId::parse(text);
    for name in CaseId::parse(text).folders().chain([id]) {
        if let Some((source, group)) = suite.find_group(name)? {
            let variant = Some(variant).filter(|variant| *variant != Variant::Runtime);
            // A complete id must not match as a prefix of others: `T=float` is not `T=float16`.
            let is_exact = is_exact || source.ids(&group)?.iter().any(|other| other == id);
            let part = Part { text: id.to_owned(), is_exact, variant };
            return Ok(Some(Choice { name: text.to_owned(), source, group, part: Some(part) }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str], expected: &[(&str, &str, &[&str])]) {
        let suite: &'static Suite =
            Box::leak(Box::new(Suite::new(vec![Box::new(onnx_conformance_cases::suite::Generated::embedded())])));
        let arguments = Arguments::parse(line.iter().map(std::ffi::OsString::from), None).unwrap();
        let filter = Filter::new(&["ai.onnx/{Abs,Identity}-*"]).unwrap();
        let chosen = choose(suite, &filter, &arguments).unwrap();
        let found: Vec<(String, String, Vec<String>)> = chosen
            .into_iter()
            .filter(|choice| arguments.selects(&choice.name))
            .map(|choice| {
                let part = choice.part.as_ref();
                let ids = choice.source.ids(&choice.group).unwrap();
                let ids = ids.into_iter().filter(|id| part.is_some_and(|part| part.includes(id))).collect();
                (choice.name, choice.group.name, ids)
            })
            .collect();
        let found: Vec<(&str, &str, Vec<&str>)> = found
            .iter()
            .map(|(name, group, ids)| (name.as_str(), group.as_str(), ids.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, &str, Vec<&str>)> =
            expected.iter().map(|(name, group, ids)| (*name, *group, ids.to_vec())).collect();
        assert_eq!(found, expected, "{line:?}");
    }

    #[test]
    fn the_id_of_a_case_chooses_its_unit_and_narrows_it() {
        let id = "ai.onnx/Abs-13/known_values/T=float";
        check(&["--exact", id], &[(id, "ai.onnx/Abs-13", &[id])]);
        check(&[id], &[(id, "ai.onnx/Abs-13", &[id])]);
        check(&["--exact", "ai.onnx/Abs-13"], &[("ai.onnx/Abs-13", "ai.onnx/Abs-13", &[])]);
        check(&["Abs-13"], &[("ai.onnx/Abs-13", "ai.onnx/Abs-13", &[])]);
        let varied = format!("{id}@constants");
        check(&["--exact", &varied], &[(&varied, "ai.onnx/Abs-13", &[id])]);
        check(&["--exact", "ai.onnx/Abs-99/known_values"], &[]);
        check(&["nothing of the kind"], &[]);
        let unit = ("ai.onnx/Identity-1", "ai.onnx/Identity-1", &[][..]);
        check(&["--exact", "ai.onnx/Identity-1", id, id], &[(id, "ai.onnx/Abs-13", &[id]), unit]);
        check(&[id, "Identity-1", "--skip", "Identity-1"], &[(id, "ai.onnx/Abs-13", &[id])]);
        check(&["Identity-1", "--skip", "Identity-13", "--skip", "6", "--skip", "4", "--skip", "9"], &[unit]);
    }
}
