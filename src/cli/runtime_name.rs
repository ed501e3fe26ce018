//! Names of runtimes on the command line: `onnxruntime`, `ort`, `onnxruntime@1.20.1`, `onnxruntime==1.20.1`.

use std::collections::BTreeSet;

use clap::builder::{StringValueParser, TypedValueParser as _, ValueParser};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::measure::{Measurement, Measurements};

use crate::cli::operator_name::ONLY_NEAR;
use crate::cli::print;
use crate::cli::suggest::{nearest, one_edit_away};
use crate::cli::usage::Usage;

/// Short names of runtimes, each with the full one.
const ALIASES: [(&str, &str); 1] = [("ort", "onnxruntime")];

/// A runtime, with a version if one is named.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuntimeName {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

impl RuntimeName {
    /// Splits a text at `@` or `==`.
    pub(crate) fn parse(text: &str) -> RuntimeName {
        let text = canonical(text);
        let (name, version) =
            text.split_once('@').map_or((text.as_str(), None), |(name, version)| (name, Some(version)));
        RuntimeName { name: name.to_owned(), version: version.map(str::to_owned) }
    }

    /// Returns the runtime that is meant. A mistyped name stands for the only known one that is one edit away, with a note.
    pub(crate) fn or_nearest(self, known: &BTreeSet<&str>) -> RuntimeName {
        let mut near = one_edit_away(&self.name, known.iter().copied());
        let only = near.pop_first().filter(|_| near.is_empty() && !known.contains(self.name.as_str()));
        let Some(only) = only else { return self };
        print::note(&format!("'{}' is read as {only}; {ONLY_NEAR}", self.name));
        RuntimeName { name: only.to_owned(), ..self }
    }

    /// Returns the measured runtime that is meant, as [`RuntimeName::or_nearest`] does.
    pub(crate) fn or_nearest_measured(self) -> RuntimeName {
        let known = Measurements::embedded().runtimes().into_iter().map(|(runtime, _)| runtime);
        self.or_nearest(&known.collect())
    }

    /// Returns true if a measured version is one of those that are named: all of a runtime, or one.
    pub(crate) fn selects(&self, runtime: &str, version: &str) -> bool {
        self.name == runtime && self.version.as_ref().is_none_or(|named| named == version)
    }

    /// Returns the measurement of the version, or of the newest one. The error begins with `place`.
    pub(crate) fn measurement(&self, place: &str) -> anyhow::Result<&'static Measurement> {
        let all = Measurements::embedded();
        let found = match &self.version {
            Some(version) => all.get(&self.name, version)?,
            None => all.newest(&self.name)?,
        };
        Ok(found.ok_or_else(|| Usage(format!("{place}{}", self.unknown())))?)
    }

    /// Describes that the runtime or the version was not measured, with the measured ones.
    fn unknown(&self) -> String {
        let (all, name) = (Measurements::embedded().runtimes(), line(&self.name));
        if let Some((_, versions)) = all.iter().find(|(known, _)| *known == self.name) {
            let version = self.version.as_deref().unwrap_or_default();
            return format!(
                "{name} {} has not been measured; measured versions: {}",
                line(version),
                versions.join(", ")
            );
        }
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        let near = nearest(&self.name, known.iter().copied());
        let hint = near.map(|near| format!("; the nearest name is {near}")).unwrap_or_default();
        format!("no version of {name} has been measured{hint}; measured runtimes: {}", known.join(", "))
    }
}

/// Returns the parser of an option that names a runtime or an adapter. It replaces aliases.
pub(crate) fn runtime_parser() -> ValueParser {
    StringValueParser::new().map(|text: String| canonical(&text)).into()
}

/// Returns a name with the alias replaced, and with `@` before a version. A path or a command line is unchanged.
fn canonical(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let (name, rest) = text.split_at(text.find(|c: char| !is_of_name(c)).unwrap_or(text.len()));
    if !(rest.is_empty() || rest.starts_with(['@', ':', '='])) || rest.contains(char::is_whitespace) {
        return text.to_owned();
    }
    let full = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, full)| *full);
    match rest.strip_prefix("==") {
        Some(version) => format!("{full}@{version}"),
        None => format!("{full}{rest}"),
    }
}

/// Splits the version off the name of an adapter: `onnxruntime:cuda@1.20.1`. A path or a command line has none.
pub(crate) fn split_version(runtime: &str) -> (&str, Option<&str>) {
    let is_version = |version: &str| version.starts_with(|c: char| c.is_ascii_digit());
    match runtime.rsplit_once('@') {
        Some((name, version)) if is_version(version) && !runtime.contains(['/', '\\', ' ']) => (name, Some(version)),
        _ => (runtime, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_has_one_name() {
        for (text, expected) in [
            ("ort", "onnxruntime"),
            ("ort==1.20.1", "onnxruntime@1.20.1"),
            ("ort@1.20.1", "onnxruntime@1.20.1"),
            ("ort:cuda", "onnxruntime:cuda"),
            ("onnxruntime==1.20.1", "onnxruntime@1.20.1"),
            ("onnxruntime:level=basic", "onnxruntime:level=basic"),
            ("ort --serve", "ort --serve"),
            ("ort/adapter", "ort/adapter"),
            ("./adapters/ort", "./adapters/ort"),
            ("python3 a.py --x==1", "python3 a.py --x==1"),
            ("@13", "@13"),
            ("", ""),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
        let named = RuntimeName::parse("ort==1.20.1");
        assert!(named.selects("onnxruntime", "1.20.1") && !named.selects("onnxruntime", "1.32.0"));
        assert!(RuntimeName::parse("ort").selects("onnxruntime", "1.32.0"));
    }

    #[test]
    fn a_mistyped_name_is_the_only_one_that_is_near() {
        let known = BTreeSet::from(["onnxruntime", "openvino", "rten", "rted"]);
        let read = |text: &str| RuntimeName::parse(text).or_nearest(&known).name;
        assert_eq!(["onxruntime", "onnxruntime@1", "opnevino"].map(read), ["onnxruntime", "onnxruntime", "openvino"]);
        assert_eq!(["rten", "rtem", "none"].map(read), ["rten", "rtem", "none"]);
    }

    #[test]
    fn a_version_is_split_off_a_name_only() {
        assert_eq!(split_version("onnxruntime:cuda@1.20.1"), ("onnxruntime:cuda", Some("1.20.1")));
        for text in ["onnxruntime", "./a@1", "node @1 x", "name@scope"] {
            assert_eq!(split_version(text), (text, None));
        }
    }

    #[test]
    fn what_was_not_measured_is_said_with_what_was() {
        let error = |text: &str| RuntimeName::parse(text).measurement("--runtime: ").unwrap_err().to_string();
        assert!(error("onxruntime").starts_with(
            "--runtime: no version of onxruntime has been measured; the nearest name is onnxruntime; measured runtimes: "
        ));
        assert!(
            error("ort@0.1").starts_with("--runtime: onnxruntime 0.1 has not been measured; measured versions: 1.15.1")
        );
    }
}
