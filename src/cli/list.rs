//! `list`: the ids of cases, and the names of other things.

use anyhow::bail;
use clap::{Args, Subcommand};
use onnx_conformance_cases::case::{CaseId, TextRelease};
use onnx_conformance_cases::suite::{Filter, recorded_cases};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use serde_json::{Value, json};

use crate::cli::options::Form;
use crate::cli::suggest::note_nothing_matches;
use crate::cli::usage::Usage;
use crate::cli::{explain, finding, list_rules, measured, options, print};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    kind: Option<Kind>,

    #[command(flatten)]
    cases: CaseArguments,
}

/// The things to list.
#[derive(Debug, Subcommand)]
enum Kind {
    /// List the ids of the cases that the filters select; the default.
    Cases(CaseArguments),
    /// List the findings about runtimes and tools, or the failures without a finding.
    Findings(finding::ListArguments),
    /// List the measured versions of runtimes with a summary of their results.
    Measured(measured::Arguments),
    /// List the outcomes of cases with their meaning.
    Outcomes,
    /// List the rules of operators and of `check`, each with its sentence.
    Rules(list_rules::Arguments),
}

/// Selection of cases and the output format.
#[derive(Debug, Args)]
struct CaseArguments {
    #[command(flatten)]
    selection: options::Selection,

    #[command(flatten)]
    text: options::TextOptions,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal: a table, but not a list.
    pub(crate) fn is_shortened(&self) -> bool {
        matches!(&self.kind, Some(Kind::Measured(arguments)) if arguments.is_shortened())
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    match &arguments.kind {
        None => list_cases(&arguments.cases),
        Some(Kind::Cases(arguments)) => list_cases(arguments),
        Some(Kind::Findings(arguments)) => finding::list(arguments),
        Some(Kind::Measured(arguments)) => measured::main(arguments),
        Some(Kind::Rules(arguments)) => list_rules::main(arguments),
        Some(Kind::Outcomes) => {
            explain::list_outcomes()?;
            Ok(exit::SUCCESS)
        }
    }
}

fn list_cases(arguments: &CaseArguments) -> anyhow::Result<u8> {
    let patterns = arguments.selection.patterns()?;
    let kinds = ["cases", "findings", "measured", "outcomes", "rules"];
    if let Some(kind) = patterns.iter().find(|pattern| kinds.contains(&pattern.as_str())) {
        bail!(Usage(format!("'{kind}' is what to list, not a filter; write it first: `list {kind} ...`")));
    }
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
