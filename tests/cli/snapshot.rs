//! Whole texts that people read, beside what is kept of them in `snapshots/`.
//!
//! A text that changes on purpose is accepted with `INSTA_UPDATE=always cargo test --test cli`, or with `cargo insta review`.

use insta::{Settings, assert_snapshot};
use regex::Regex;

use crate::models::Folder;

/// The text is the one that is kept under this name, but for what [`Called`](crate::program::Called) cannot know: see [`redacted`].
#[track_caller]
pub(crate) fn check(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// A text without what differs from run to run: the path of the folder, times, and the program's version.
pub(crate) fn redacted(text: &str, folder: &Folder) -> String {
    let text = text.replace(&folder.argument(), "FOLDER").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let seconds = Regex::new(r#"(in |time=")[0-9]+\.[0-9]+"#).unwrap();
    seconds.replace_all(&text, "${1}SECONDS").into_owned()
}

/// A text in paragraphs without those whose first line begins so.
pub(crate) fn without_paragraphs(text: &str, heads: &[&str]) -> String {
    let stays = |paragraph: &&str| !heads.iter().any(|head| paragraph.starts_with(head));
    text.split("\n\n").filter(stays).collect::<Vec<_>>().join("\n\n")
}
