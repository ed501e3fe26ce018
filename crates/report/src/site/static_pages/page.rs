//! Frame of a page that reads without JavaScript: head, menu, contents, and the way to the same page with filters.

use std::fmt::Write as _;

use onnx_conformance_harness::escape;

use crate::site::static_pages::address::{Address, Place};
use crate::site::static_pages::base_url::BaseUrl;
use crate::site::static_pages::html::Html;

/// Path of the picture that links to the site show.
pub(crate) const PICTURE: &str = "picture.png";

/// Name of the site.
const NAME: &str = "ONNX, measured";

/// Sentence about the front page.
const ABOUT: &str = "Which ONNX operators, versions and types each runtime gets right: measured results, findings with the \
                     sentence of the standard that decides, and a check of your model.";

/// Maximum number of characters of a description in the head of a page.
const MAX_DESCRIPTION: usize = 200;

/// Minimum number of sections for a list of contents.
const MIN_CONTENTS: usize = 3;

/// The pages in the menu.
const MENU: [(Address<'static>, &str); 5] = [
    (Address::Operators, "Operators"),
    (Address::Runtimes, "Runtimes"),
    (Address::Findings, "Findings"),
    (Address::Rules, "Rules of check"),
    (Address::Releases, "Releases"),
];

/// Page without JavaScript.
#[derive(Debug)]
pub(crate) struct Page {
    /// Path in the site.
    pub(crate) path: String,
    /// Place from which its links lead.
    pub(crate) place: Place,
    /// Address of the same page with JavaScript; empty if there is none.
    hash: String,
    title: String,
    /// First sentence of the page, and its description for search engines.
    description: String,
    /// Facts below the heading.
    facts: Html,
    sections: Vec<(String, Html)>,
}

impl Page {
    /// Creates a page without sections.
    pub(crate) fn new(address: Address<'_>, title: &str, description: &str) -> Page {
        let path = address.path();
        Page {
            place: Place::of(&path),
            path,
            hash: address.hash(),
            title: title.to_owned(),
            description: description.to_owned(),
            facts: Html::default(),
            sections: Vec::new(),
        }
    }

    /// Creates the page that a server gives for a path without a file. Its links are absolute, since the path may be any.
    pub(crate) fn missing(base: &BaseUrl) -> Page {
        let about = "This site has no page at this address.";
        let mut page = Page::new(Address::Front, "No such page", about);
        "404.html".clone_into(&mut page.path);
        page.place = Place::absolute(base.root());
        page.hash.clear();
        let links = MENU.map(|(address, words)| page.place.link(address, words));
        page.section("Pages of this site", Html::list("found", links));
        page
    }

    /// Sets the facts below the heading.
    pub(crate) fn facts(&mut self, facts: Html) {
        self.facts = facts;
    }

    /// Adds a section; nothing if it is empty.
    pub(crate) fn section(&mut self, title: &str, inside: Html) {
        if !inside.is_empty() {
            self.sections.push((title.to_owned(), inside));
        }
    }

    /// Returns the text of the file. With the address of the site, links to this page show its picture everywhere.
    pub(crate) fn text(&self, base: Option<&BaseUrl>) -> String {
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · {NAME}</title>\n",
            escape::html(&self.title)
        );
        let canonical = base.filter(|_| !self.path.starts_with("404")).map(|base| base.file(&self.path));
        let picture = base.map_or_else(|| self.place.file(PICTURE), |base| base.file(PICTURE));
        text.push_str(&social(&self.title, &self.description, &picture, canonical.as_deref()));
        let _ = write!(
            text,
            "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"{}\">\n</head>\n<body class=\"plain\">\n",
            escape::html(&self.place.file("site.css"))
        );
        text.push_str(self.body().as_str());
        text.push_str("</body>\n</html>\n");
        text
    }

    fn body(&self) -> Html {
        let main = Html::with(
            "main",
            &[("id", "main"), ("tabindex", "-1")],
            [
                Html::element("h1", self.title.as_str()),
                Html::with("p", &[("class", "lead")], self.description.as_str()),
                self.facts.clone(),
                self.contents(),
                self.sections.iter().enumerate().map(section).collect(),
                self.way_back(),
            ],
        );
        Html::from([Html::with("a", &[("class", "skip"), ("href", "#main")], "Skip to the content"), self.menu(), main])
    }

    fn menu(&self) -> Html {
        let item = |(address, words): (Address<'_>, &str)| {
            let path = address.path();
            let href = self.place.file(&path);
            let mut attributes = vec![("href", href.as_str())];
            if path == self.path {
                attributes.push(("aria-current", "page"));
            }
            Html::with("a", &attributes, words)
        };
        let front = self.place.file(&Address::Front.path());
        let links: Html = MENU.into_iter().map(item).collect();
        Html::with(
            "header",
            &[("class", "top")],
            [
                Html::with("a", &[("class", "home"), ("href", front.as_str())], NAME),
                Html::with("nav", &[("aria-label", "Pages")], links),
            ],
        )
    }

    fn contents(&self) -> Html {
        if self.sections.len() < MIN_CONTENTS {
            return Html::default();
        }
        let link = |(at, (title, _)): (usize, &(String, Html))| {
            let href = format!("#{}", section_id(at));
            Html::with("a", &[("class", "chip"), ("href", href.as_str())], title.as_str())
        };
        let links = Html::joined(self.sections.iter().enumerate().map(link), " ");
        Html::with("nav", &[("class", "contents"), ("aria-label", "Contents")], links)
    }

    /// Returns the link to the same page with filters.
    fn way_back(&self) -> Html {
        if self.hash.is_empty() {
            return Html::default();
        }
        let link = self.place.app_link(&self.hash, "This page with filters and cases");
        Html::with("p", &[("class", "foot quiet")], [link, Html::from(". It needs JavaScript, and no network.")])
    }
}

/// Returns the id of a section by its position.
fn section_id(at: usize) -> String {
    format!("section-{}", at + 1)
}

fn section((at, (title, inside)): (usize, &(String, Html))) -> Html {
    let head = Html::with("h2", &[("id", section_id(at).as_str())], title.as_str());
    Html::element("section", [head, inside.clone()])
}

/// Returns the tags of the front page's head that describe it.
pub(crate) fn front_head(base: Option<&BaseUrl>) -> String {
    let picture = base.map_or_else(|| PICTURE.to_owned(), |base| base.file(PICTURE));
    let canonical = base.map(|base| base.file("index.html"));
    social(NAME, ABOUT, &picture, canonical.as_deref())
}

/// Returns the tags that search engines and previews of links read.
fn social(title: &str, description: &str, picture: &str, canonical: Option<&str>) -> String {
    let short: String = description.chars().take(MAX_DESCRIPTION).collect();
    let short = if short.len() < description.len() { format!("{}…", short.trim_end()) } else { short };
    let (title, about) = (escape::html(title), escape::html(&short));
    let mut text = format!(
        "<meta name=\"description\" content=\"{about}\">\n<meta property=\"og:type\" content=\"website\">\n\
         <meta property=\"og:site_name\" content=\"{NAME}\">\n<meta property=\"og:title\" content=\"{title}\">\n\
         <meta property=\"og:description\" content=\"{about}\">\n<meta property=\"og:image\" content=\"{}\">\n\
         <meta property=\"og:image:width\" content=\"1200\">\n<meta property=\"og:image:height\" content=\"630\">\n\
         <meta property=\"og:image:alt\" content=\"A row for each runtime, and in it a coloured stripe for each operator\">\n",
        escape::html(picture)
    );
    if let Some(address) = canonical.map(escape::html) {
        let _ = write!(
            text,
            "<link rel=\"canonical\" href=\"{address}\">\n<meta property=\"og:url\" content=\"{address}\">\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\"><script>alert(1)</script>";

    fn page() -> Page {
        let mut page = Page::new(Address::Runtime("own-1"), HOSTILE, &format!("{HOSTILE}{}", "long ".repeat(100)));
        page.section(HOSTILE, Html::element("p", HOSTILE));
        page
    }

    #[test]
    fn a_hostile_name_stays_text_in_head_and_body() {
        let text = page().text(Some(&"https://example.org/a".parse().unwrap()));
        assert!(!text.contains("<script") && !text.contains("\">alert"), "{text}");
        assert!(text.contains("<title>&quot;&gt;&lt;script&gt;"), "{text}");
    }

    #[test]
    fn addresses_are_relative_unless_the_site_has_one() {
        let text = page().text(None);
        assert!(!text.contains("http") && !text.contains("canonical"), "{text}");
        for part in [
            "<link rel=\"stylesheet\" href=\"../site.css\">",
            "property=\"og:image\" content=\"../picture.png\"",
            "<a href=\"../index.html#/runtime/own-1\">",
            "<a href=\"../op/index.html\">Operators</a>",
            "…\">",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        let text = page().text(Some(&"https://example.org/a/".parse().unwrap()));
        assert!(text.contains("property=\"og:image\" content=\"https://example.org/a/picture.png\""), "{text}");
        assert!(text.contains("rel=\"canonical\" href=\"https://example.org/a/runtime/own-1.html\""), "{text}");
    }

    #[test]
    fn a_missing_page_leads_on_from_any_path() {
        let base = "https://example.org/a".parse().unwrap();
        let text = Page::missing(&base).text(Some(&base));
        assert!(text.contains("<h1>No such page</h1>") && !text.contains("canonical"), "{text}");
        assert!(text.contains("href=\"https://example.org/a/finding/index.html\""), "{text}");
        assert!(!text.contains("href=\"../") && !text.contains("href=\"op/"), "{text}");
    }
}
