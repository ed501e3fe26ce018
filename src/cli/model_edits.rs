//! Edits of a whole model: removed parts, and sizes of named dimensions.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::{Args, ValueEnum};
use onnx_conformance_check::convert::{FileEdits, Strip, dimension_names};
use onnx_conformance_reference::proto::ModelProto;

use crate::cli::usage::Usage;

/// Edits of a whole model.
#[derive(Debug, Args)]
pub(crate) struct EditOptions {
    /// Remove parts that no output depends on
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    strip: Vec<Part>,

    /// Replace a named dimension of inputs, outputs and values of the main graph by a size, such as N=1. May be given several times
    #[arg(long, value_name = "NAME=SIZE")]
    dim: Vec<String>,
}

/// Parts of a model that no output depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every `doc_string`
    Docs,
    /// Every `metadata_props`
    Metadata,
    /// Training graphs
    Training,
}

impl EditOptions {
    /// Returns true if no edits are requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.strip.is_empty() && self.dim.is_empty()
    }

    /// Returns the edits of a model, or an error that lists its dimensions if one of the named does not exist.
    pub(crate) fn edits(&self, model: &ModelProto) -> anyhow::Result<FileEdits> {
        let strip = self.strip.iter().map(|part| match part {
            Part::Docs => Strip::Docs,
            Part::Metadata => Strip::Metadata,
            Part::Training => Strip::Training,
        });
        let names = dimension_names(model);
        let mut dimensions = BTreeMap::new();
        for text in &self.dim {
            let size = text.rsplit_once('=').and_then(|(name, size)| Some((name, size.parse::<u32>().ok()?)));
            let Some((name, size)) = size else {
                bail!(Usage(format!("--dim {text}: write the name of a dimension and its size, as in N=1")));
            };
            if !names.contains(name) {
                let known = names.iter().copied().collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {known}") };
                bail!(Usage(format!("--dim {text}: the model has no dimension named '{name}'; {known}")));
            }
            if dimensions.insert(name.to_owned(), i64::from(size)).is_some_and(|other| other != i64::from(size)) {
                bail!(Usage(format!("--dim gives two sizes of '{name}'; give only one")));
            }
        }
        Ok(FileEdits { strip: strip.collect(), dimensions })
    }
}
