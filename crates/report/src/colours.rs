//! Colours of text for terminals: one palette. What prints it takes them out where they would not be seen.

use anstyle::{AnsiColor, Style};

/// A name or a title.
pub(crate) const BOLD: Style = Style::new().bold();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
/// As it must be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something to know.
pub(crate) const NOTE: Style = AnsiColor::Blue.on_default();
/// Neither good nor wrong.
pub(crate) const UNSURE: Style = AnsiColor::Yellow.on_default();
/// Not there.
pub(crate) const MISSING: Style = AnsiColor::Magenta.on_default();
/// Wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
