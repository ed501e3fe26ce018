//! Printed texts, compared with the accepted ones in `snapshots/`.
//!
//! To accept intended changes, run `INSTA_UPDATE=always cargo test --test cli`, or `cargo insta review`.

use insta::{Settings, assert_snapshot};
use regex::Regex;

use crate::models::Folder;

/// Asserts that the text equals the snapshot of this name. Parts that [`Called`](crate::program::Called) cannot know must be
/// removed before: see [`redacted`].
#[track_caller]
pub(crate) fn check(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// Removes the parts of a text that differ between runs: the path of the folder, times, and the program's version.
pub(crate) fn redacted(text: &str, folder: &Folder) -> String {
    let text = text.replace(&folder.argument(), "FOLDER").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let seconds = Regex::new(r#"(in |time=")[0-9]+\.[0-9]+"#).unwrap();
    seconds.replace_all(&text, "${1}SECONDS").into_owned()
}

/// Removes the paragraphs whose first line begins with one of the heads.
pub(crate) fn without_paragraphs(text: &str, heads: &[&str]) -> String {
    let stays = |paragraph: &&str| !heads.iter().any(|head| paragraph.starts_with(head));
    text.split("\n\n").filter(stays).collect::<Vec<_>>().join("\n\n")
}
