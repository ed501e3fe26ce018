//! Selection of cases from the command line of a test binary.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, Variant};
use onnx_conformance_cases::suite::{
    CaseGroup, Filter, FilterError, SelectedGroup, Source, Suite, SuiteError, is_glob,
};
use thiserror::Error;

use crate::libtest::arguments::{Arguments, is_about_cases};

/// A group to run.
pub(super) struct Choice {
    /// Name of its trial.
    pub(super) name: String,
    pub(super) source: &'static (dyn Source + Send),
    pub(super) group: CaseGroup,
    /// The cases to run, or `None` for all.
    pub(super) part: Option<Part>,
    /// True if the command line selects cases of the group by something other than the name of its trial.
    pub(super) is_chosen: bool,
}

/// Cases selected by the command line.
#[derive(Default)]
pub(super) struct Part {
    ids: BTreeSet<String>,
    /// Variant in the id or glob, if it has one.
    pub(super) variant: Option<Variant>,
}

impl Part {
    /// Returns true if a case is selected.
    pub(super) fn includes(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// Failure to select cases.
#[derive(Debug, Error)]
pub(super) enum ChoiceError {
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Returns the groups that the filters of the command line select from: groups that the patterns of the crate select,
/// and groups of cases that the command line names.
pub(super) fn choose(
    suite: &'static Suite,
    filter: &Filter,
    arguments: &Arguments,
) -> Result<Vec<Choice>, ChoiceError> {
    let whole = |(source, group): (&'static (dyn Source + Send), CaseGroup)| Choice {
        name: group.name.clone(),
        source,
        group,
        part: None,
        is_chosen: false,
    };
    let texts: BTreeSet<&str> = arguments.filters.iter().map(String::as_str).collect();
    let (mut chosen, mut unknown) = (Vec::new(), Vec::new());
    if arguments.exact && !texts.is_empty() {
        // A complete name is found without listing everything.
        for name in texts {
            match suite.find_group(name)? {
                Some(group) => chosen.push(whole(group)),
                None if is_glob(name) => unknown.push(name),
                None => chosen.extend(named(suite, name, true)?),
            }
        }
        chosen.extend(matching(suite, filter, &unknown)?);
        return Ok(chosen);
    }
    let groups: Vec<_> = if filter.is_everything() {
        suite.groups()?
    } else {
        suite.choose(filter)?.into_iter().map(|(source, group, _)| (source, group)).collect()
    };
    for text in texts {
        if groups.iter().any(|(_, group)| group.name.contains(text)) {
            continue;
        }
        match named(suite, text, false)?.filter(|_| !is_glob(text)) {
            Some(choice) => chosen.push(choice),
            None if is_about_cases(text) => unknown.push(text),
            None => {}
        }
    }
    // A group that runs as a whole does not also run in part.
    chosen.extend(matching(suite, filter, &unknown)?.filter(|choice| !arguments.selects(&choice.name)));
    chosen.extend(groups.into_iter().map(whole));
    Ok(chosen)
}

/// Returns the group of the case that a text names, as a trial with that name.
fn named(suite: &'static Suite, text: &str, is_exact: bool) -> Result<Option<Choice>, SuiteError> {
    let CaseId { path: id, variant } = CaseId::parse(text);
    for name in CaseId::parse(text).folders().chain([id]) {
        if let Some((source, group)) = suite.find_group(name)? {
            let all = if is_exact { Vec::new() } else { source.ids(&group)? };
            // A complete id must not match as a prefix of others: `T=float` is not `T=float16`.
            let is_exact = is_exact || all.iter().any(|other| other == id);
            let ids = if is_exact {
                BTreeSet::from([id.to_owned()])
            } else {
                all.into_iter().filter(|other| other.starts_with(id)).collect()
            };
            let part = Some(Part { ids, variant: variant_in_id(variant) });
            return Ok(Some(Choice { name: text.to_owned(), source, group, part, is_chosen: false }));
        }
    }
    Ok(None)
}

/// Returns a variant, unless it is the one without a suffix in ids.
fn variant_in_id(variant: Variant) -> Option<Variant> {
    Some(variant).filter(|variant| *variant != Variant::Runtime)
}

/// Returns the groups of the cases of the crate whose ids match a glob, or contain a text.
fn matching(
    suite: &'static Suite,
    filter: &Filter,
    texts: &[&str],
) -> Result<impl Iterator<Item = Choice>, ChoiceError> {
    let mut found: BTreeMap<String, Choice> = BTreeMap::new();
    for text in texts {
        let CaseId { path, variant } = CaseId::parse(text);
        let selected: Vec<SelectedGroup<'static>> =
            if is_glob(path) { suite.choose(&Filter::new(&[path])?)? } else { suite.choose(filter)? };
        for (source, group, ids) in selected {
            let is_wanted = |id: &String| filter.matches(id) && (is_glob(path) || id.contains(path));
            let ids: Vec<String> = ids.into_iter().filter(is_wanted).collect();
            if ids.is_empty() {
                continue;
            }
            let choice = found.entry(group.name.clone()).or_insert_with(|| Choice {
                name: group.name.clone(),
                source,
                group,
                part: None,
                is_chosen: true,
            });
            let part = choice.part.get_or_insert_default();
            part.ids.extend(ids);
            part.variant = part.variant.or(variant_in_id(variant));
        }
    }
    Ok(found.into_values())
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
            .filter(|choice| choice.is_chosen && !arguments.omits(&choice.name) || arguments.selects(&choice.name))
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
    fn globs_and_parts_of_ids_choose_the_cases_of_the_crate() {
        let check_names = |line: &[&str], expected: &[(&str, &[&str])]| {
            let expected: Vec<_> = expected.iter().map(|(group, ids)| (*group, *group, *ids)).collect();
            check(line, &expected);
        };
        let id = |version: u32| format!("ai.onnx/Abs-{version}/known_values/T=float");
        let ids = [1, 6, 13].map(id);
        let (first, last) = ([ids[0].as_str()], [ids[2].as_str()]);
        let groups: [(&str, &[&str]); 2] = [("ai.onnx/Abs-1", &first), ("ai.onnx/Abs-13", &last)];
        check_names(&["ai.onnx/*-{1,13}/known_values/T=float", "--skip", "Identity"], &groups);
        check_names(&["--exact", "ai.onnx/A*-{1,13}/known_values/T=float"], &groups);
        // Cases that the crate does not run are not selected.
        check_names(&["ai.onnx/Acos-*/**"], &[]);
        check_names(&["Acos-7/known_values"], &[]);
        let half = format!("{}16", ids[1]);
        let in_both = [ids[1].as_str(), &half];
        check_names(&["Abs-6/known_values/T=float", "--skip", "13"], &[("ai.onnx/Abs-6", &in_both)]);
        // A word may be meant for the other test binaries of a crate.
        check_names(&["known_values"], &[]);
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
