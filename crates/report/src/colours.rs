//! Colours of terminal text: one palette. The printing code removes them if the output shows no colours.

use anstyle::{AnsiColor, Style};

/// Names and titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// Less important text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Correct results.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Notes.
pub(crate) const NOTE: Style = AnsiColor::Blue.on_default();
/// Neither good nor wrong.
pub(crate) const UNSURE: Style = AnsiColor::Yellow.on_default();
/// Missing.
pub(crate) const MISSING: Style = AnsiColor::Magenta.on_default();
/// Wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
