//! Search for one case by its id, or by a pattern.

use anyhow::bail;
use onnx_conformance_cases::case::{Case, TextRelease};
use onnx_conformance_cases::suite::{Filter, Suite, is_glob};
use onnx_conformance_harness::run::Confirm as _;

use crate::cli::operator_name::OperatorName;
use crate::cli::options::Sources;
use crate::cli::print;
use crate::cli::suggest::{choice, near_patterns};
use crate::cli::usage::Usage;

/// Returns the case with this id, or the first case of a glob, a group or an operator, with its level by the texts of a
/// release. An error suggests the nearest id.
pub(crate) fn find(sources: &Sources, text: TextRelease, id: &str) -> anyhow::Result<Case> {
    let suite = sources.open_by(text)?;
    if let Some(case) = find_in(&suite, sources, id)? {
        return Ok(case);
    }
    let group = if id.contains('/') { Some(id.to_owned()) } else { newest_version(sources, id) };
    let first = match group {
        Some(group) => first_of_group(&suite, sources, &group)?,
        None => None,
    };
    match first {
        Some(case) => Ok(case),
        None => bail!(no_case(&suite, id)),
    }
}

/// Returns the group of an operator's newest version, or of the version after its `@`.
fn newest_version(sources: &Sources, name: &str) -> Option<String> {
    let version = OperatorName::parse(name).ok().filter(|_| sources.is_project())?.version().ok()?;
    Some(version.qualified())
}

/// Returns the case of an open suite with this id, or the first that a glob selects.
pub(crate) fn find_in(suite: &Suite, sources: &Sources, id: &str) -> anyhow::Result<Option<Case>> {
    let found = match suite.find(id)? {
        None if is_glob(id) => first_selected(suite, id)?,
        found => found,
    };
    confirmed(found, sources)
}

/// Returns the first case of the group with this path.
pub(crate) fn first_of_group(suite: &Suite, sources: &Sources, path: &str) -> anyhow::Result<Option<Case>> {
    confirmed(first_selected(suite, path)?, sources)
}

/// Returns the error for an id without a case.
pub(crate) fn no_case(suite: &Suite, id: &str) -> Usage {
    let hint = choice(&near_patterns(suite, id)).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    Usage(format!("there is no case '{id}'; {hint}`onnx-conformance list` prints the ids"))
}

/// Adds the evidence of the confirming runtimes to a case.
fn confirmed(mut found: Option<Case>, sources: &Sources) -> anyhow::Result<Option<Case>> {
    if let Some(case) = &mut found {
        sources.evidence()?.confirm(case);
    }
    Ok(found)
}

/// Returns the first case that a pattern selects, and prints the number of cases; `None` if it selects none or is no pattern.
fn first_selected(suite: &Suite, pattern: &str) -> anyhow::Result<Option<Case>> {
    let Ok(filter) = Filter::new(&[pattern]) else { return Ok(None) };
    let ids = suite.ids(&filter)?;
    let Some(first) = ids.first() else { return Ok(None) };
    if ids.len() > 1 {
        let count = ids.len();
        print::note(&format!("'{pattern}' selects {count} cases; showing the first, `list` prints all"));
    }
    Ok(suite.find(first)?)
}
