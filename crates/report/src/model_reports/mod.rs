//! Reports on checked models, for people and for programs.

mod html;
mod markdown;
mod sarif;
mod text;

pub use html::page;
pub use markdown::markdown_report;
pub use sarif::sarif;
pub use text::{opsets_text, table, text};
