//! Names of operators on the command line: `Sum@13`, `Sum-13`, `sum`, `ai.onnx.ml/Scaler`.

use std::collections::BTreeSet;

use onnx_conformance_reference::spec::{LookupError, OperatorVersion, Specs, canonical_domain};

use crate::cli::print;
use crate::cli::suggest::{nearest, one_edit_away};
use crate::cli::usage::Usage;

/// Reason to correct a mistyped name.
pub(crate) const ONLY_NEAR: &str = "no other name is that similar";

/// An operator that exists, with the opset at which it is requested.
#[derive(Debug)]
pub(crate) struct OperatorName {
    /// The domain in its canonical spelling.
    pub(crate) domain: String,
    pub(crate) name: String,
    /// The opset after `@` or `-`; `None` for the newest version.
    pub(crate) opset: Option<u32>,
    /// The name on the command line, if it differs.
    written: Option<String>,
}

impl OperatorName {
    /// Parses a name. An error suggests the nearest one.
    pub(crate) fn parse(text: &str) -> Result<OperatorName, Usage> {
        let (plain, opset) = split_opset(text)?;
        let (domains, name) = domains_and_name(plain);
        let known =
            || domains.iter().flat_map(|domain| Specs::embedded().operators(domain).map(move |known| (*domain, known)));
        let exact = known().find(|(_, known)| *known == name);
        let found = exact.or_else(|| known().find(|(_, known)| known.eq_ignore_ascii_case(name)));
        let Some((domain, found)) = found else {
            let near = nearest(name, known().map(|(_, known)| known));
            let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            return Err(Usage(format!("there is no operator '{plain}'{hint}")));
        };
        let written = (found != name).then(|| name.to_owned());
        Ok(OperatorName { domain: domain.to_owned(), name: found.to_owned(), opset, written })
    }

    /// Parses a name. A mistyped one stands for the only operator that is one edit away, which [`OperatorName::note_reading`] says.
    pub(crate) fn parse_or_nearest(text: &str) -> Result<OperatorName, Usage> {
        OperatorName::parse(text).or_else(|error| {
            let mut near = near_operators(text);
            let Some(only) = near.pop_first().filter(|_| near.is_empty()) else { return Err(error) };
            let (plain, _) = split_opset(text)?;
            let (_, written) = domains_and_name(plain);
            Ok(OperatorName { written: Some(written.to_owned()), ..OperatorName::parse(&only)? })
        })
    }

    /// Returns the version at the requested opset, or else the newest one.
    pub(crate) fn version(&self) -> Result<OperatorVersion, Usage> {
        let newest = || Specs::embedded().newest_opset(&self.domain).map_err(|error| Usage(error.to_string()));
        self.at(self.opset.map_or_else(newest, Ok)?)
    }

    /// Returns the version at an opset.
    pub(crate) fn at(&self, opset: u32) -> Result<OperatorVersion, Usage> {
        let usage = |error: LookupError| Usage(error.to_string());
        Ok(Specs::embedded().find(&self.domain, &self.name, opset).map_err(usage)?.version.clone())
    }

    /// Returns the opsets that introduced the versions of the operator, ascending.
    pub(crate) fn versions(&self) -> Vec<u32> {
        Specs::embedded().versions(&self.domain, &self.name).collect()
    }

    /// Prints a note if the name differs from the operator's.
    pub(crate) fn note_reading(&self) {
        if let Some(written) = &self.written {
            let is_other_case = written.eq_ignore_ascii_case(&self.name);
            let why = if is_other_case { "the case of a name matters in ids and filters" } else { ONLY_NEAR };
            print::note(&format!("'{written}' is read as {}; {why}", self.name));
        }
    }
}

/// Returns the version that a text names, and prints a note if it is written differently.
pub(crate) fn operator_version(text: &str) -> Result<OperatorVersion, Usage> {
    let name = OperatorName::parse_or_nearest(text)?;
    let version = name.version()?;
    name.note_reading();
    Ok(version)
}

/// Returns the operator whose name is nearest to a text.
pub(crate) fn nearest_operator(text: &str) -> Option<&'static str> {
    let plain = text.split_once('@').map_or(text, |(plain, _)| plain);
    let (domains, name) = domains_and_name(plain);
    nearest(name, domains.iter().flat_map(|domain| Specs::embedded().operators(domain)))
}

/// Returns texts like this one that name an operator whose name is one edit away.
pub(crate) fn near_operators(text: &str) -> BTreeSet<String> {
    let Ok((plain, _)) = split_opset(text) else { return BTreeSet::new() };
    let (domains, name) = domains_and_name(plain);
    let near = one_edit_away(name, domains.iter().flat_map(|domain| Specs::embedded().operators(domain)));
    let (before, after) = (plain.len() - name.len(), plain.len());
    let around = |near: &str| Some([text.get(..before)?, near, text.get(after..)?].concat());
    near.into_iter().filter_map(around).collect()
}

/// Returns the domains that may have the operator, and its name.
fn domains_and_name(plain: &str) -> (Vec<&str>, &str) {
    match plain.rsplit_once('/') {
        Some((domain, name)) => (vec![canonical_domain(domain)], name),
        None => (Specs::embedded().domains().collect(), plain),
    }
}

/// Splits `Sum@13` or `Sum-13` into the name and the opset.
fn split_opset(text: &str) -> Result<(&str, Option<u32>), Usage> {
    if let Some((plain, opset)) = text.split_once('@') {
        let number = opset.parse::<u32>();
        let number = number.map_err(|_| Usage(format!("'{opset}' is not an opset; write for example {plain}@13")))?;
        return Ok((plain, Some(number)));
    }
    Ok(match text.rsplit_once('-').map(|(plain, since)| (plain, since.parse::<u32>())) {
        Some((plain, Ok(since))) => (plain, Some(since)),
        _ => (text, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_by_opset_or_by_since() {
        let name = |text: &str| {
            let version = OperatorName::parse(text).and_then(|name| name.version());
            version.map(|version| version.qualified()).map_err(|error| error.to_string())
        };
        assert_eq!(name("Sum@14").as_deref(), Ok("ai.onnx/Sum-13"));
        assert_eq!(name("Softmax-11").as_deref(), Ok("ai.onnx/Softmax-11"));
        assert_eq!(name("Scaler").as_deref(), Ok("ai.onnx.ml/Scaler-1"));
        assert_eq!(name("ai.onnx/Sum").as_deref(), Ok("ai.onnx/Sum-13"));
        assert_eq!(name("softmax@11").as_deref(), Ok("ai.onnx/Softmax-11"));
        assert_eq!(name("ai.onnx.ml/scaler").as_deref(), Ok("ai.onnx.ml/Scaler-1"));
        assert_eq!(name("Sofmax@1").unwrap_err(), "there is no operator 'Sofmax'; did you mean 'Softmax'?");
        assert!(name("Sum@x").unwrap_err().contains("is not an opset"));
        assert!(name("Sum@0").unwrap_err().contains("it was added in opset 1"));
    }

    #[test]
    fn a_mistyped_name_stands_for_the_only_one_that_is_near() {
        let read = |text: &str| -> Result<(Option<String>, String), Usage> {
            let name = OperatorName::parse_or_nearest(text)?;
            Ok((name.written.clone(), name.version()?.qualified()))
        };
        let ok = |written: &str, version: &str| Ok::<_, Usage>((Some(written.to_owned()), version.to_owned()));
        for (text, expected) in [
            ("Sofmax@11", ok("Sofmax", "ai.onnx/Softmax-11")),
            ("ai.onnx/Sofmax-11", ok("Sofmax", "ai.onnx/Softmax-11")),
            ("ai.onnx.ml/Scalr", ok("Scalr", "ai.onnx.ml/Scaler-1")),
        ] {
            let text_of = |read: Result<(Option<String>, String), Usage>| read.map_err(|error| error.to_string());
            assert_eq!(text_of(read(text)), text_of(expected), "{text}");
        }
        for text in ["Sun", "ReduceM", "Nothing", "Sum@x"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_another_case_is_noted() {
        let written = |text: &str| OperatorName::parse(text).unwrap().written;
        assert_eq!((written("Sum@13"), written("sum@13")), (None, Some("sum".to_owned())));
    }
}
