//! Markup whose text is escaped, so that no name or message of a results file becomes markup.

use std::fmt::Write as _;

use onnx_conformance_harness::escape;

/// Markup. Text is escaped when it becomes a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl From<&str> for Html {
    fn from(text: &str) -> Html {
        Html(escape::html(text))
    }
}

impl From<String> for Html {
    fn from(text: String) -> Html {
        Html::from(text.as_str())
    }
}

impl From<usize> for Html {
    fn from(number: usize) -> Html {
        Html(number.to_string())
    }
}

impl<const N: usize> From<[Html; N]> for Html {
    fn from(parts: [Html; N]) -> Html {
        parts.into_iter().collect()
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Html {
        Html(parts.into_iter().map(|part| part.0).collect())
    }
}

impl Html {
    /// Returns the markup as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Creates an element.
    pub(crate) fn element(tag: &'static str, inside: impl Into<Html>) -> Html {
        Html(format!("<{tag}>{}</{tag}>\n", inside.into().0))
    }

    /// Creates an element within a line.
    pub(crate) fn inline(tag: &'static str, inside: impl Into<Html>) -> Html {
        Html(format!("<{tag}>{}</{tag}>", inside.into().0))
    }

    /// Creates an element within a line, with attributes.
    pub(crate) fn with(tag: &'static str, attributes: &[(&'static str, &str)], inside: impl Into<Html>) -> Html {
        let mut text = format!("<{tag}");
        for (name, value) in attributes {
            let _ = write!(text, " {name}=\"{}\"", escape::html(value));
        }
        let _ = write!(text, ">{}</{tag}>", inside.into().0);
        Html(text)
    }

    /// Creates a link.
    pub(crate) fn link(href: &str, inside: impl Into<Html>) -> Html {
        Html::with("a", &[("href", href)], inside)
    }

    /// Creates a block of code, whose line breaks stay. A keyboard can scroll it.
    pub(crate) fn code_block(text: &str) -> Html {
        let lines: Vec<String> = text.trim_end().lines().map(escape::html).collect();
        Html(format!("<pre tabindex=\"0\">{}</pre>\n", lines.join("\n")))
    }

    /// Joins parts with a separator.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Html>, separator: &str) -> Html {
        let parts: Vec<String> = parts.into_iter().map(|part| part.0).collect();
        Html(parts.join(&escape::html(separator)))
    }

    /// Creates a list; nothing without items.
    pub(crate) fn list(class: &str, items: impl IntoIterator<Item = Html>) -> Html {
        let items: Html = items.into_iter().map(|item| Html::element("li", item)).collect();
        if items.is_empty() { items } else { Html::with("ul", &[("class", class)], items) }
    }

    /// Creates a list of terms with a description each.
    pub(crate) fn terms(class: &str, terms: impl IntoIterator<Item = (Html, Html)>) -> Html {
        let row = |(term, about): (Html, Html)| Html::from([Html::element("dt", term), Html::element("dd", about)]);
        let rows: Html = terms.into_iter().map(row).collect();
        if rows.is_empty() { rows } else { Html::with("dl", &[("class", class)], rows) }
    }

    /// Creates a table that scrolls alone if it is wide. The first cell of a row is its head.
    pub(crate) fn table(
        caption: &str,
        head: impl IntoIterator<Item: Into<Html>>,
        rows: impl IntoIterator<Item = Vec<Html>>,
    ) -> Html {
        let caption = escape::html(caption);
        let mut text = format!(
            "<div class=\"scroll\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n<caption>{caption}</caption>\n\
             <thead><tr>"
        );
        for title in head {
            let _ = write!(text, "<th scope=\"col\">{}</th>", title.into().0);
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            text.push_str("<tr>");
            for (at, Html(cell)) in row.into_iter().enumerate() {
                let _ = if at == 0 {
                    write!(text, "<th scope=\"row\">{cell}</th>")
                } else {
                    write!(text, "<td>{cell}</td>")
                };
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody>\n</table>\n</div>\n");
        Html(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</title><script>alert('1')</script>\" onload=\"x";

    #[test]
    fn a_script_in_a_text_stays_text() {
        let parts = [
            Html::element("p", HOSTILE),
            Html::inline("code", HOSTILE.to_owned()),
            Html::with("span", &[("title", HOSTILE)], HOSTILE),
            Html::link(HOSTILE, HOSTILE),
            Html::code_block(&format!("a\n{HOSTILE}\nb")),
            Html::table(HOSTILE, [HOSTILE], [vec![HOSTILE.into(), HOSTILE.into()]]),
            Html::list("found", [Html::from(HOSTILE)]),
            Html::terms("facts", [(HOSTILE.into(), HOSTILE.into())]),
            Html::joined([Html::from(HOSTILE), Html::from("a")], HOSTILE),
        ];
        for part in parts {
            let text = part.as_str();
            assert!(!text.contains("<script") && !text.contains("</title") && !text.contains("\" onload"), "{text}");
            assert!(text.contains("&lt;script&gt;"), "{text}");
        }
    }

    #[test]
    fn code_has_its_lines_and_a_table_its_heads() {
        assert_eq!(Html::code_block("a <\nb\n\n").as_str(), "<pre tabindex=\"0\">a &lt;\nb</pre>\n");
        let table = Html::table("Sums", ["name", "sum"], [vec![Html::from("a"), Html::from(3)]]);
        assert!(table.as_str().contains("<th scope=\"col\">sum</th>"), "{table:?}");
        assert!(table.as_str().contains("<tr><th scope=\"row\">a</th><td>3</td></tr>"), "{table:?}");
        assert!(Html::list("a", []).is_empty() && Html::terms("a", []).is_empty());
    }
}
