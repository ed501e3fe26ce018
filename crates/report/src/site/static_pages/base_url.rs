//! Address at which a site is published.

use std::str::FromStr;

use crate::site::static_pages::address::encoded;

/// Address of a published site, with a slash at its end: `https://example.org/onnx/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

/// Text that is not the address of a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an address such as https://example.org/onnx/")]
pub struct BaseUrlError(String);

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<BaseUrl, BaseUrlError> {
        let error = || BaseUrlError(text.to_owned());
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or_else(error)?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/:%".contains(c);
        if rest.is_empty() || rest.starts_with('/') || !rest.chars().all(is_allowed) {
            return Err(error());
        }
        Ok(BaseUrl(format!("{}/", text.trim_end_matches('/'))))
    }
}

impl BaseUrl {
    /// Returns the address of the folder.
    pub(crate) fn root(&self) -> &str {
        &self.0
    }

    /// Returns the address of a file of the site. The front page is the folder itself.
    pub(crate) fn file(&self, path: &str) -> String {
        let path = if path == "index.html" { "" } else { path };
        format!("{}{}", self.0, encoded(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_protocol_and_no_other_signs() {
        let base: BaseUrl = "https://example.org/onnx".parse().unwrap();
        assert_eq!(base.root(), "https://example.org/onnx/");
        assert_eq!(base.file("index.html"), "https://example.org/onnx/");
        assert_eq!(base.file("rule/node/type.html"), "https://example.org/onnx/rule/node/type.html");
        for text in
            ["", "example.org", "https://", "https:///a", "ftp://a", "https://a\"b", "https://a b", "https://a?b"]
        {
            assert!(text.parse::<BaseUrl>().is_err(), "{text}");
        }
    }
}
