//! README of the packages: the README of the checkout without links to its files, which an installed package does not
//! have.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// Path of the file.
pub(crate) const PATH: &str = "python/README.md";

/// README of the checkout.
const README: &str = "README.md";

/// First line of the file.
const HEAD: &str = "<!-- Written by `cargo xtask gen` from README.md, without links to files of a checkout. -->";

/// Lines around a part that only a checkout has.
const ONLY_IN_CHECKOUT: [&str; 2] = ["<!-- checkout -->", "<!-- /checkout -->"];

/// Link of a text in Markdown, with the text around it.
struct Link<'a> {
    before: &'a str,
    label: &'a str,
    target: &'a str,
    after: &'a str,
}

impl<'a> Link<'a> {
    /// Finds the first link.
    fn find(text: &'a str) -> Option<Link<'a>> {
        let (start, rest) = text.split_once("](")?;
        let (before, label) = start.rsplit_once('[')?;
        let (target, after) = rest.split_once(')')?;
        Some(Link { before, label, target, after })
    }

    fn is_relative(&self) -> bool {
        !self.target.starts_with("https://")
    }
}

/// Returns the text of the file.
pub(crate) fn page() -> Result<String> {
    let readme = fs::read_to_string(workspace::root().join(README)).with_context(|| format!("cannot read {README}"))?;
    let page = packed(&readme);
    if let Some(link) = Link::find(&page).filter(Link::is_relative) {
        bail!("{README}: the link '{}' to {} cannot be packed", link.label, link.target);
    }
    Ok(page)
}

/// Removes the parts that only a checkout has, pictures, and relative links.
fn packed(readme: &str) -> String {
    let [start, end] = ONLY_IN_CHECKOUT;
    let (mut kept, mut is_cut) = (String::new(), false);
    for line in readme.lines() {
        match line {
            _ if line == start => is_cut = true,
            _ if line == end => is_cut = false,
            _ if is_cut || line.starts_with("![") => {}
            // Of the empty lines around a removed part, one is kept.
            "" if kept.is_empty() || kept.ends_with("\n\n") => {}
            _ => kept.extend([line, "\n"]),
        }
    }
    format!("{HEAD}\n{}", without_relative_links(&kept))
}

/// Replaces relative links by their labels, and removes those in parentheses of their own.
fn without_relative_links(text: &str) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some(link) = Link::find(rest) {
        done.push_str(link.before);
        rest = link.after;
        if !link.is_relative() {
            done.extend(["[", link.label, "](", link.target, ")"]);
        } else if let Some(after) = rest.strip_prefix(')').filter(|_| done.ends_with('(')) {
            done.pop();
            done.truncate(done.trim_end().len());
            rest = after;
        } else {
            done.push_str(link.label);
        }
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_no_link_to_a_file_of_the_checkout() {
        let readme = "# A\n\n![picture](a.svg)\n\nIs it?\n([how](docs/b.md))\n\n    code 'a[b]'\n\n<!-- checkout -->\nSee [c](c.md).\n\
                      \n<!-- /checkout -->\nRead [two\nlines](d.md#e), [web](https://example.org/x).\n";
        assert_eq!(
            packed(readme),
            format!("{HEAD}\n# A\n\nIs it?\n\n    code 'a[b]'\n\nRead two\nlines, [web](https://example.org/x).\n")
        );
    }

    #[test]
    fn the_packed_file_is_that_of_the_readme() {
        let packed = fs::read_to_string(workspace::root().join(PATH)).unwrap();
        assert_eq!(packed, page().unwrap(), "run `cargo xtask gen`");
        assert!(packed.contains("pip install onnx-conformance") && !packed.contains("docs/"), "{packed}");
        for file in ["pyproject.toml", "Cargo.toml"] {
            let text = fs::read_to_string(workspace::root().join(file)).unwrap();
            assert!(text.contains(&format!("readme = \"{PATH}\"\n")), "{file}");
        }
    }
}
