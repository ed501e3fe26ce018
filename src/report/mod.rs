//! Consumers of results: the terminal, and the files of a report.

pub mod case;
pub mod compare;
pub mod coverage;
pub mod diff;
pub mod junit;
pub mod markdown;
pub mod matrix;
pub mod shields;
pub mod site;
pub mod terminal;
pub mod versions;
