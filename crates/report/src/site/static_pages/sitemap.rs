//! Map of the site for search engines. Its addresses are absolute, as its format requires.

use std::fmt::Write as _;

use onnx_conformance_harness::escape;

use crate::site::static_pages::base_url::BaseUrl;

/// Creates the map with the addresses of these files.
pub(crate) fn sitemap<'a>(base: &BaseUrl, paths: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for path in paths {
        let _ = writeln!(text, "<url><loc>{}</loc></url>", escape::html(&base.file(path)));
    }
    text.push_str("</urlset>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_address() {
        let base = "https://example.org/onnx".parse().unwrap();
        let text = sitemap(&base, ["index.html", "op/ai.onnx/Conv.html"]);
        assert!(text.contains("<loc>https://example.org/onnx/</loc>"), "{text}");
        assert!(text.contains("<loc>https://example.org/onnx/op/ai.onnx/Conv.html</loc>"), "{text}");
    }
}
