//! Static site: results of every measured runtime for every operator version. It opens from files and needs no network.
//!
//! `severity`, `case_name` and `data_script` are pure; `column` is the source of outcomes; `columns` relates versions of a runtime; `table` combines all
//! columns and all cases of a version; the others are the data of one kind of page each. `static_pages` has the pages that read without
//! JavaScript, `output` writes the files, and `write` makes all of them.

mod case_name;
mod causes;
mod column;
mod columns;
mod data_script;
mod failures;
mod finding_pages;
mod findings;
mod front;
mod graphs;
mod intern;
mod onnx_text;
mod operator;
mod output;
mod playground;
mod rules;
mod sample;
mod search;
mod severity;
mod shares;
mod static_pages;
mod table;
mod together;
mod tools;
mod write;

pub(crate) use case_name::CaseName;
pub use column::Column;
pub(crate) use column::declared;
pub use data_script::read_data_script;
pub use graphs::GraphsError;
pub(crate) use onnx_text::model as model_text;
pub use operator::StandardTexts;
pub use output::OutputError;
pub use playground::{InputsError, read_inputs, value_text};
pub(crate) use sample::expression as python_expression;
pub use sample::{Sample, case_sample};
pub(crate) use severity::{colour_of, letter_of, words_of};
pub use static_pages::{BaseUrl, BaseUrlError, StaticError};
pub(crate) use table::{Levels, VersionTable, name_of, states};
pub use write::{Extra, Progress, SiteError, Step, Written, write_site};
