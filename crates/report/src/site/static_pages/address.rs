//! Addresses: each page without JavaScript has the path of its address in the other part of the site.

use std::fmt::Write as _;

use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

use crate::site::static_pages::html::Html;

/// A page of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address<'a> {
    /// The front page.
    Front,
    /// The list of operators.
    Operators,
    /// An operator, by domain and name.
    Operator(&'a str, &'a str),
    /// The list of runtimes.
    Runtimes,
    /// A measured version of a runtime, by the key of its column.
    Runtime(&'a str),
    /// The list of findings.
    Findings,
    /// A finding, by its full id.
    Finding(&'a str),
    /// The list of rules of `check`.
    Rules,
    /// A rule of `check`, by its id.
    Rule(&'a str),
    /// The list of releases of ONNX.
    Releases,
    /// A release of ONNX, by its version.
    Release(&'a str),
}

impl Address<'_> {
    /// Returns the path of the file in the site: `op/ai.onnx/Conv.html`.
    pub(crate) fn path(self) -> String {
        match self {
            Address::Front => "index.html".to_owned(),
            Address::Operators => "op/index.html".to_owned(),
            Address::Operator(domain, name) => format!("op/{domain}/{name}.html"),
            Address::Runtimes => "runtime/index.html".to_owned(),
            Address::Runtime(key) => format!("runtime/{key}.html"),
            Address::Findings => "finding/index.html".to_owned(),
            Address::Finding(id) => format!("finding/{id}.html"),
            Address::Rules => "rule/index.html".to_owned(),
            Address::Rule(id) => format!("rule/{id}.html"),
            Address::Releases => "release/index.html".to_owned(),
            Address::Release(onnx) => format!("release/{onnx}.html"),
        }
    }

    /// Returns the address of the page that needs JavaScript: `#/op/ai.onnx/Conv`; empty if there is none.
    pub(crate) fn hash(self) -> String {
        match self {
            Address::Front | Address::Operators => "#/".to_owned(),
            Address::Runtimes => "#/runtimes".to_owned(),
            Address::Findings => "#/findings".to_owned(),
            Address::Rules => "#/rules".to_owned(),
            Address::Releases | Address::Release(_) => String::new(),
            other => format!("#/{}", encoded(other.path().trim_end_matches(".html"))),
        }
    }
}

/// Folder of a page, from which its links lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Prefix that leads to the root of the site.
    root: String,
}

impl Place {
    /// Creates the place of a page by its path. Links from it are relative.
    pub(crate) fn of(path: &str) -> Place {
        Place { root: "../".repeat(path.matches('/').count()) }
    }

    /// Creates a place whose links are absolute.
    pub(crate) fn absolute(root: &str) -> Place {
        Place { root: root.to_owned() }
    }

    /// Returns the address of a file of the site.
    pub(crate) fn file(&self, path: &str) -> String {
        format!("{}{}", self.root, encoded(path))
    }

    /// Creates a link to a page.
    pub(crate) fn link(&self, to: Address<'_>, words: impl Into<Html>) -> Html {
        Html::link(&self.file(&to.path()), words)
    }

    /// Creates a link to a version on the page of an operator.
    pub(crate) fn link_to_version(&self, [domain, name]: [&str; 2], since: u32, words: impl Into<Html>) -> Html {
        let href = format!("{}#{}", self.file(&Address::Operator(domain, name).path()), version_id(since));
        Html::link(&href, words)
    }

    /// Creates a link to an address that needs JavaScript: `#/case/...`.
    pub(crate) fn app_link(&self, hash: &str, words: impl Into<Html>) -> Html {
        Html::link(&format!("{}index.html{hash}", self.root), words)
    }
}

/// Returns the id of a version on the page of its operator.
pub(crate) fn version_id(since: u32) -> String {
    format!("v{since}")
}

/// Returns the address of a case in the part of the site that needs JavaScript.
pub(crate) fn case_hash(id: &str) -> String {
    format!("#/case/{}", encoded(id))
}

/// Returns the name of an operator without the domain of ONNX's own operators.
pub(crate) fn short_name(domain: &str, name: &str) -> String {
    if domain == DEFAULT_DOMAIN { name.to_owned() } else { format!("{domain}/{name}") }
}

/// Encodes a path for an address.
pub(crate) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/=,".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_path_of_its_address() {
        for address in [
            Address::Operator("ai.onnx", "Conv"),
            Address::Runtime("onnxruntime-1.20.1"),
            Address::Finding("onnxruntime/gather-strings"),
            Address::Rule("node/type"),
        ] {
            assert_eq!(format!("#/{}", address.path()), format!("{}.html", address.hash()));
        }
    }

    #[test]
    fn links_lead_to_the_root_first() {
        let place = Place::of("finding/a/b.html");
        assert_eq!(place.file("site.css"), "../../site.css");
        assert_eq!(place.link(Address::Front, "a").as_str(), "<a href=\"../../index.html\">a</a>");
        assert_eq!(Place::of("index.html").file("op/a b<.html"), "op/a%20b%3C.html");
        let version = place.link_to_version(["ai.onnx", "Conv"], 11, "Conv-11");
        assert_eq!(version.as_str(), "<a href=\"../../op/ai.onnx/Conv.html#v11\">Conv-11</a>");
        let case = place.app_link(&case_hash("a/b@opset=last"), "case");
        assert_eq!(case.as_str(), "<a href=\"../../index.html#/case/a/b%40opset=last\">case</a>");
    }
}
