//! Target opsets and IR version of a model: options shared by several subcommands.

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Release, Specs, canonical_domain};
use onnx_conformance_report::models::CheckQuestions;

use crate::cli::usage::Usage;

/// Opsets and IR version.
#[derive(Debug, Args)]
pub(crate) struct TargetOptions {
    /// Opset of ai.onnx, or of a named domain: 13, or ai.onnx.ml=2. May be given once per domain
    #[arg(long, value_name = "N|DOMAIN=N")]
    opset: Vec<String>,

    /// IR version
    #[arg(long, value_name = "N")]
    ir: Option<i64>,

    /// Use the opsets and IR version of an ONNX release, such as 1.12. Lower numbers in the model stay unchanged
    #[arg(long, value_name = "RELEASE", conflicts_with_all = ["opset", "ir"])]
    release: Option<String>,

    /// Change only the version numbers. Fails if a node must change
    #[arg(long)]
    relabel_only: bool,
}

impl TargetOptions {
    /// Returns the questions that the options ask about a model.
    pub(crate) fn questions(&self) -> anyhow::Result<CheckQuestions> {
        let mut questions =
            CheckQuestions { relabel_only: self.relabel_only, ir: self.ir, ..CheckQuestions::default() };
        if let Some(name) = &self.release {
            (questions.release, questions.label) = (Some(release(name)?), format!("ONNX {name}"));
            return Ok(questions);
        }
        for text in &self.opset {
            let (domain, opset) = opset_of(text, &format!("--opset {text}"))?;
            if questions.opsets.insert(domain, opset).is_some_and(|other| other != opset) {
                bail!(Usage(format!("--opset gives two opsets of {}; give only one", opset_domain(text))));
            }
        }
        let newest_ir = Specs::embedded().releases()?.newest().map_or(3, |release| release.ir);
        if self.ir.is_some_and(|ir| !(3..=i64::from(newest_ir)).contains(&ir)) {
            bail!(Usage(format!("--ir: expected an IR version from 3 to {newest_ir}")));
        }
        let opsets = questions.opsets.iter().map(|(domain, opset)| opset_label(domain, *opset));
        let parts: Vec<String> = opsets.chain(self.ir.map(|ir| format!("IR {ir}"))).collect();
        questions.label = parts.join(", ");
        Ok(questions)
    }
}

/// Returns the domain and the opset in `13` or `ai.onnx.ml=3`. `option` names the text in an error.
pub(crate) fn opset_of(text: &str, option: &str) -> anyhow::Result<(String, i64)> {
    let domain = opset_domain(text);
    let opset = text.split_once('=').map_or(text, |(_, opset)| opset);
    let Ok(opset) = opset.parse() else {
        bail!(Usage(format!("{option}: write a number, or DOMAIN=NUMBER as in ai.onnx.ml=3")));
    };
    let newest = Specs::embedded().newest_opset(domain).map_err(|error| Usage(format!("{option}: {error}")))?;
    if !(1..=i64::from(newest)).contains(&opset) {
        bail!(Usage(format!("{option}: {domain} has the opsets 1 to {newest}")));
    }
    Ok((domain.to_owned(), opset))
}

fn opset_domain(text: &str) -> &str {
    canonical_domain(text.split_once('=').map_or(DEFAULT_DOMAIN, |(domain, _)| domain))
}

/// Returns the label of an opset: `opset 12`, or `opset 3 of ai.onnx.ml`.
pub(crate) fn opset_label(domain: &str, opset: i64) -> String {
    if domain == DEFAULT_DOMAIN { format!("opset {opset}") } else { format!("opset {opset} of {domain}") }
}

/// Returns the release with this name. `1.12` means its last patch.
fn release(name: &str) -> anyhow::Result<Release> {
    let releases = &Specs::embedded().releases()?.releases;
    let below = format!("{name}.");
    let found = releases.iter().rfind(|release| release.onnx == name || release.onnx.starts_with(&below));
    let known = || releases.iter().map(|release| release.onnx.as_str()).collect::<Vec<_>>().join(", ");
    let found =
        found.with_context(|| Usage(format!("there is no ONNX release {name}; known releases: {}", known())))?;
    Ok(found.clone())
}
