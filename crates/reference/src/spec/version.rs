//! Name of an operator version, and the two spellings of the default domain.

use std::fmt;
use std::str::FromStr;

/// The default domain as spelt in specs, case ids and reports; models use the empty string.
pub const DEFAULT_DOMAIN: &str = "ai.onnx";

/// The spelling used everywhere except in models: the empty domain is `ai.onnx`.
pub fn canonical_domain(domain: &str) -> &str {
    if domain.is_empty() { DEFAULT_DOMAIN } else { domain }
}

/// The spelling in models: `ai.onnx` is the empty domain.
pub fn model_domain(domain: &str) -> &str {
    if domain == DEFAULT_DOMAIN { "" } else { domain }
}

/// Operator version, identified by the opset that introduced it: `Sum-13`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorVersion {
    /// The domain in its canonical spelling.
    pub domain: String,
    /// The operator's name.
    pub name: String,
    /// The opset of the domain that introduced this version.
    pub since: u32,
}

impl OperatorVersion {
    /// Creates an operator version; either spelling of the domain is accepted.
    pub fn new(domain: &str, name: &str, since: u32) -> OperatorVersion {
        OperatorVersion { domain: canonical_domain(domain).to_owned(), name: name.to_owned(), since }
    }

    /// The name with the domain, unique among all operator versions: `ai.onnx/Sum-13`.
    pub fn qualified(&self) -> String {
        format!("{}/{self}", self.domain)
    }
}

impl fmt::Display for OperatorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.name, self.since)
    }
}

impl serde::Serialize for OperatorVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.qualified())
    }
}

/// Error: a text that is not an operator version.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not an operator version; write OPERATOR-SINCE or DOMAIN/OPERATOR-SINCE, as in Sum-13")]
pub struct OperatorVersionError(String);

impl FromStr for OperatorVersion {
    type Err = OperatorVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || OperatorVersionError(text.to_owned());
        let (domain, version) = text.rsplit_once('/').unwrap_or((DEFAULT_DOMAIN, text));
        let (name, since) = version.rsplit_once('-').ok_or_else(error)?;
        let since = since.parse().map_err(|_| error())?;
        if name.is_empty() { Err(error()) } else { Ok(OperatorVersion::new(domain, name, since)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_domain_has_one_spelling() {
        let version = OperatorVersion::new("", "Sum", 13);
        assert_eq!(version.qualified(), "ai.onnx/Sum-13");
        assert_eq!(model_domain(&version.domain), "");
        assert_eq!(model_domain(canonical_domain("ai.onnx.ml")), "ai.onnx.ml");
    }

    #[test]
    fn both_forms_read_back() {
        for text in ["Sum-13", "ai.onnx/Sum-13"] {
            assert_eq!(text.parse::<OperatorVersion>().unwrap(), OperatorVersion::new("", "Sum", 13));
        }
        assert_eq!("ai.onnx.ml/Scaler-1".parse::<OperatorVersion>().unwrap().domain, "ai.onnx.ml");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["Sum", "Sum-", "-13", "Sum-thirteen", "ai.onnx/Sum"] {
            assert!(text.parse::<OperatorVersion>().is_err(), "{text} was taken");
        }
    }
}
