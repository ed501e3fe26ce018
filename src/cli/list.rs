//! `list`: the ids of cases.

use clap::Args;
use onnx_conformance_cases::case::{CaseId, TextRelease};
use onnx_conformance_cases::suite::{Filter, recorded_cases};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use serde_json::{Value, json};

use crate::cli::options::Form;
use crate::cli::suggest::note_nothing_matches;
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,

    #[command(flatten)]
    text: options::TextOptions,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let patterns = arguments.selection.patterns()?;
    let filter = arguments.selection.narrowed(Filter::new(&patterns)?)?;
    arguments.text.note_later();
    let suite = arguments.selection.open()?;
    let ids = suite.ids(&filter)?;
    if ids.is_empty() {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    if arguments.format == Form::Json {
        let text = arguments.text.release();
        print::json(&ids.iter().map(|id| listed(id, text)).collect::<Vec<_>>())?;
        return Ok(exit::SUCCESS);
    }
    let mut text = String::with_capacity(ids.iter().map(|id| id.len() + 1).sum());
    for id in &ids {
        text.push_str(&escape::line(id));
        text.push('\n');
    }
    print::raw(text.as_bytes())?;
    Ok(exit::SUCCESS)
}

/// Describes a case from its record, without making it, with the level by the text of a release. A test of a release has only its id.
fn listed(id: &str, text: TextRelease) -> Value {
    let version = CaseId::parse(id).version();
    let recorded = version.and_then(|version| recorded_cases(&version).iter().find(|case| case.id == id));
    match recorded {
        Some(case) => json!({
            "id": id,
            "level": case.facts.level_by(text),
            "text": case.facts.text,
            "refusal": case.facts.refusal.is_some(),
            "special_values": case.facts.is_edge,
            "settings": case.facts.settings.to_string(),
        }),
        None => json!({ "id": id }),
    }
}
