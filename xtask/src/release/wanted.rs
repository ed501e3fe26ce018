//! The version that a task names: a release, a candidate, or a development build.

use std::str::FromStr;

/// Package with the development builds.
const WEEKLY: &str = "onnx-weekly";

/// A version of a package of ONNX, or the newest one of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Name of the package.
    pub(crate) package: String,
    /// Version on the index; `None` for the newest one.
    pub(crate) version: Option<String>,
}

/// A text that names no version.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' is no version of ONNX; write a release (1.24.0), a candidate (1.24.0rc1), {WEEKLY}, or {WEEKLY}==1.24.0.dev20261026"
)]
pub(crate) struct NoVersion(String);

impl Wanted {
    /// The newest development build.
    pub(crate) fn weekly() -> Wanted {
        Wanted { package: WEEKLY.to_owned(), version: None }
    }

    /// Returns the requirement of pip.
    pub(crate) fn requirement(&self) -> String {
        let Wanted { package, version } = self;
        version.as_ref().map_or_else(|| package.clone(), |version| format!("{package}=={version}"))
    }
}

impl FromStr for Wanted {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Wanted, NoVersion> {
        let (package, version) = match text.split_once("==") {
            Some((package, version)) => (package, Some(version)),
            None if text == WEEKLY => (text, None),
            None => ("onnx", Some(text)),
        };
        let fits = match version {
            None => true,
            // The development builds are packages of their own.
            Some(version) if version.contains(".dev") => package == WEEKLY && release_of(version).is_some(),
            Some(version) => package == "onnx" && release_of(version).is_some(),
        };
        if !fits {
            return Err(NoVersion(text.to_owned()));
        }
        Ok(Wanted { package: package.to_owned(), version: version.map(str::to_owned) })
    }
}

/// Returns the release that a version leads to: `1.24.0` for 1.24.0, 1.24.0rc1 and 1.24.0.dev20261026.
pub(crate) fn release_of(version: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = version.split('.');
    let (major, minor, last) = (parts.next()?, parts.next()?, parts.next()?);
    let (patch, candidate) = last.split_once("rc").map_or((last, None), |(patch, number)| (patch, Some(number)));
    let is_number = [major, minor, patch].into_iter().chain(candidate).all(digits);
    let is_ended = match parts.next() {
        None => true,
        Some(build) => candidate.is_none() && build.strip_prefix("dev").is_some_and(digits) && parts.next().is_none(),
    };
    (is_number && is_ended).then(|| format!("{major}.{minor}.{patch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, requirement: &str) {
        assert_eq!(text.parse::<Wanted>().unwrap().requirement(), requirement);
    }

    #[test]
    fn releases_candidates_and_builds_are_named() {
        check("1.24.0", "onnx==1.24.0");
        check("1.24.0rc1", "onnx==1.24.0rc1");
        check("onnx==1.24.0", "onnx==1.24.0");
        check("onnx-weekly", "onnx-weekly");
        check("onnx-weekly==1.24.0.dev20261026", "onnx-weekly==1.24.0.dev20261026");
    }

    #[test]
    fn other_texts_are_refused_with_the_forms() {
        for text in [
            "",
            "1.24",
            "v1.24.0",
            "1.24.0rc",
            "1.24.0.1",
            "1.24.0.dev1",
            "1.24.x",
            "onnx-weekly==1.24.0",
            "numpy==1.24.0",
        ] {
            let error = text.parse::<Wanted>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}' is no version")) && error.contains("1.24.0rc1"), "{error}");
        }
    }

    #[test]
    fn a_version_leads_to_a_release() {
        for version in ["1.24.0", "1.24.0rc1", "1.24.0.dev20261026"] {
            assert_eq!(release_of(version).as_deref(), Some("1.24.0"));
        }
        assert_eq!(release_of("1.24.0rc1.dev2"), None);
    }
}
