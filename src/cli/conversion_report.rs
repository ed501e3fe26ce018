//! Report of a conversion: lines that are printed at once, or a JSON value at the end.

use std::collections::BTreeSet;
use std::path::Path;

use onnx_conformance_check::convert::{Conversion, PlacedEdit, Refusal};
use onnx_conformance_harness::escape::line;
use serde::Serialize;

use crate::cli::half::HalfReport;
use crate::cli::options::Form;
use crate::cli::print;

/// Report of a conversion, described by `docs/schema/convert.json`.
#[derive(Debug, Serialize)]
pub(crate) struct ConversionReport {
    tool: &'static str,
    file: String,
    status: Ended,
    /// The result in one line.
    summary: String,
    /// Changes, those of the model as a whole first.
    edits: Vec<Placed>,
    /// Reasons why there is no conversion.
    reasons: Vec<Placed>,
    /// Other facts: the reason for the target, and a rule that the original model violates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    /// Conversion to half precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    half: Option<HalfReport>,
    /// Comparison of both models. Missing if a comparison was not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<VerificationReport>,
    /// The written file.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    #[serde(skip)]
    form: Form,
}

/// Result of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ended {
    /// There is a converted model.
    Converted,
    /// Some place cannot be converted.
    Refused,
    /// The converted model would violate a rule.
    Invalid,
    /// The converted model would compute other outputs.
    Differs,
    /// The outputs were not compared, although a proof is required.
    Unverified,
    /// The file contains no model.
    Unreadable,
}

/// Sentence about a place.
#[derive(Debug, Serialize)]
struct Placed {
    place: String,
    text: String,
}

/// Comparison of the outputs of both models.
#[derive(Debug, Serialize)]
struct VerificationReport {
    /// True if the outputs were compared and are the same.
    verified: bool,
    text: String,
}

impl ConversionReport {
    /// Starts the report on a model.
    pub(crate) fn new(name: &str, form: Form) -> ConversionReport {
        ConversionReport {
            tool: env!("CARGO_PKG_VERSION"),
            file: name.to_owned(),
            status: Ended::Converted,
            summary: String::new(),
            edits: Vec::new(),
            reasons: Vec::new(),
            remarks: Vec::new(),
            half: None,
            verification: None,
            written: None,
            form,
        }
    }

    /// Reports the edits of the file and those of the conversion after a line with the result: the reason why the converted model
    /// is not written, or the number of edits.
    pub(crate) fn edits(
        &mut self,
        failure: Option<(Ended, String)>,
        of_file: &[PlacedEdit],
        conversion: &Conversion,
    ) -> anyhow::Result<()> {
        let edits = of_file.iter().chain(&conversion.edits);
        let (of_model, of_nodes): (Vec<_>, Vec<_>) = edits.partition(|edit| edit.concerns_model());
        let places: BTreeSet<&str> = of_nodes.iter().map(|edit| edit.place.as_str()).collect();
        let summary = match places.len() {
            0 if of_model.is_empty() => "nothing to do: the model already has these versions".to_owned(),
            0 if of_file.is_empty() => "only version numbers change".to_owned(),
            0 => "no node changes".to_owned(),
            1 => "1 edit".to_owned(),
            count => format!("{count} edits"),
        };
        let (status, summary) = failure.unwrap_or((Ended::Converted, summary));
        self.end(status, &summary)?;
        for edit in of_model.into_iter().chain(of_nodes) {
            self.edits.push(self.placed(&edit.place, &edit.text)?);
        }
        Ok(())
    }

    /// Reports a refusal, with its reasons.
    pub(crate) fn refused(&mut self, refusal: &Refusal) -> anyhow::Result<()> {
        let count = refusal.reasons.iter().map(|reason| reason.place.as_str()).collect::<BTreeSet<_>>().len();
        let summary = if count == 1 {
            "1 place cannot be converted".to_owned()
        } else {
            format!("{count} places cannot be converted")
        };
        self.end(Ended::Refused, &summary)?;
        refusal.reasons.iter().try_for_each(|PlacedEdit { place, text }| self.reason(place, text))
    }

    /// Reports a reason why there is no conversion. The place is empty if the text names it.
    pub(crate) fn reason(&mut self, place: &str, text: &str) -> anyhow::Result<()> {
        let reason = self.placed(place, text)?;
        self.reasons.push(reason);
        Ok(())
    }

    /// Reports another fact.
    pub(crate) fn remark(&mut self, text: &str) -> anyhow::Result<()> {
        self.remarks.push(text.to_owned());
        self.say(text)
    }

    /// Reports the comparison of both models. If two were not possible, the first reason is reported.
    pub(crate) fn verified(&mut self, verified: bool, text: &str) -> anyhow::Result<()> {
        if !verified && self.verification.as_ref().is_some_and(|before| !before.verified) {
            return Ok(());
        }
        let before = self.verification.take();
        self.verification = Some(match before {
            Some(before) => {
                VerificationReport { verified: before.verified && verified, text: format!("{}; {text}", before.text) }
            }
            None => VerificationReport { verified, text: text.to_owned() },
        });
        self.say(text)
    }

    /// Reports the conversion to half precision, below a one-line summary.
    pub(crate) fn half(&mut self, half: HalfReport) -> anyhow::Result<()> {
        if self.status == Ended::Converted {
            self.summary = match self.summary.as_str() {
                "" => half.summary(),
                before => format!("{before}; {}", half.summary()),
            };
        }
        self.say(&half.summary())?;
        half.details().iter().try_for_each(|line| self.say(&format!("  {line}")))?;
        self.half = Some(half);
        Ok(())
    }

    /// Reports the largest errors in half precision.
    pub(crate) fn half_errors(&self) -> anyhow::Result<()> {
        let lines = self.half.as_ref().map(HalfReport::largest_errors).unwrap_or_default();
        if lines.is_empty() {
            return Ok(());
        }
        self.say("largest errors:")?;
        lines.iter().try_for_each(|line| self.say(&format!("  {line}")))
    }

    /// Reports the written file.
    pub(crate) fn wrote(&mut self, path: &Path) -> anyhow::Result<()> {
        self.written = Some(path.display().to_string());
        self.say(&format!("wrote {}", path.display()))
    }

    /// Reports the result in one line.
    pub(crate) fn end(&mut self, status: Ended, summary: &str) -> anyhow::Result<()> {
        (self.status, self.summary) = (status, summary.to_owned());
        self.say(summary)
    }

    /// Prints the report if it is JSON.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        if self.form == Form::Json { print::json(self) } else { Ok(()) }
    }

    fn placed(&self, place: &str, text: &str) -> anyhow::Result<Placed> {
        self.say(&if place.is_empty() { format!("  {text}") } else { format!("  {place}: {text}") })?;
        Ok(Placed { place: place.to_owned(), text: text.to_owned() })
    }

    /// Prints a line, unless the report is JSON.
    fn say(&self, text: &str) -> anyhow::Result<()> {
        if self.form == Form::Text { print::line(&line(text)) } else { Ok(()) }
    }
}
