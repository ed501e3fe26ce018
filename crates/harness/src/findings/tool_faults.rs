//! Faults of tools: `findings/tools/<tool>.yaml`.

use std::sync::OnceLock;

use onnx_conformance_reference::spec::yaml;
use serde::Deserialize;

use crate::findings::file::FindingError;
use crate::run::Outcome;

/// Name and text of each embedded file.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/tool_faults.rs"));

/// The faults of a tool, argued.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFaults {
    /// The tool, without its mode.
    pub tool: String,
    /// The faults, one per cause.
    pub faults: Vec<ToolFault>,
}

/// A cause of wrong answers of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFault {
    /// Id, unique for its tool: `axes-of-reductions`.
    pub id: String,
    /// The fault in one line.
    pub title: String,
    /// A case that shows it, with the question: `ai.onnx/ReduceMin-13/axes/T=float@upgrade`.
    pub sample: String,
    /// The mode of the tool in which the sample shows it; empty for the default.
    #[serde(default)]
    pub mode: String,
    /// The pass of an optimizer that is to blame: the sample fails if it runs alone.
    #[serde(default)]
    pub pass: Option<String>,
    /// The outcome of the sample.
    pub outcome: Outcome,
    /// Other operators with the same cause.
    #[serde(default)]
    pub also: Vec<String>,
    /// The behaviour of the tool, and the reason why that is a fault.
    pub says: String,
    /// The sentence of the standard that decides, if one does.
    #[serde(default)]
    pub quote: Option<String>,
    /// True if the older measured version has the fault; `None` if it was not tried.
    #[serde(default, deserialize_with = "older")]
    pub older: Option<bool>,
    /// True if the outcome differs from run to run, since it depends on memory. The newest measurement may then show less than
    /// `outcome`, or nothing.
    #[serde(default)]
    pub varies: bool,
    /// The measurement that showed a fault that varies. A fault has it if `varies` is true.
    #[serde(default)]
    pub seen: Option<SeenIn>,
}

/// A measurement that showed a fault. A newer one may have replaced its file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenIn {
    /// Version of the tool.
    pub version: String,
    /// Date of the measurement, in UTC: `2026-11-29`.
    pub date: String,
}

impl ToolFaults {
    /// Returns the embedded faults, sorted by tool.
    pub fn embedded() -> Result<&'static [ToolFaults], FindingError> {
        static ALL: OnceLock<Vec<ToolFaults>> = OnceLock::new();
        if let Some(all) = ALL.get() {
            return Ok(all);
        }
        let read = |(name, text): &(&str, &str)| yaml::read(&format!("findings/tools/{name}"), text);
        let mut all: Vec<ToolFaults> = FILES.iter().map(read).collect::<Result<_, _>>()?;
        all.sort_by(|a, b| a.tool.cmp(&b.tool));
        Ok(ALL.get_or_init(|| all))
    }

    /// Returns the full id of a fault: `onnxslim/axes-of-reductions`.
    pub fn full_id(&self, fault: &ToolFault) -> String {
        format!("{}/{}", self.tool, fault.id)
    }
}

impl ToolFault {
    /// Returns the tool as `--runtime` names it: `onnx-checker:mode=full`.
    pub fn command(&self, tool: &str) -> String {
        if self.mode.is_empty() { tool.to_owned() } else { format!("{tool}:mode={}", self.mode) }
    }
}

fn older<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "fails" => Ok(Some(true)),
        "passes" => Ok(Some(false)),
        "unknown" => Ok(None),
        other => Err(serde::de::Error::custom(format!("'{other}': expected fails, passes or unknown"))),
    }
}
