//! Models of exporters below testdata/exporters: the predictions of `check --runtime`, compared with the recorded
//! results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use onnx_conformance_check::Limits;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_report::models::{CheckQuestions, RuntimeVerdict, examine};
use serde::Deserialize;

use crate::workspace;

/// Folder of the models.
const FOLDER: &str = "testdata/exporters";

/// Index of the models in their folder.
const INDEX: &str = "models.yaml";

/// Runtime of the recorded truth.
const RUNTIME: &str = "onnxruntime";

/// The index of the models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    models: Vec<ExportedModel>,
}

/// A model, with its results on versions of the runtime.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedModel {
    file: String,
    #[serde(rename = "exporter")]
    _exporter: String,
    #[serde(rename = "opset")]
    _opset: u32,
    onnxruntime: BTreeMap<String, Truth>,
}

/// Behaviour of a version of the runtime.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    outcome: Behaviour,
    /// First line of the runtime's message, without paths.
    #[serde(default, rename = "message")]
    _message: Option<String>,
}

/// Outcome of loading a model and running it on random inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Behaviour {
    Runs,
    FailsWhenRun,
    DoesNotLoad,
}

/// Prediction for a model, the best first; `None` if the model has errors, so that there is no prediction for a
/// runtime.
type Prediction = Option<RuntimeVerdict>;

/// A prediction for a version of the runtime, with the truth.
struct Compared {
    version: String,
    file: String,
    prediction: Prediction,
    truth: Behaviour,
    line: String,
}

fn index() -> Result<Index> {
    let path = workspace::root().join(FOLDER).join(INDEX);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_yaml::from_str(&text).with_context(|| format!("{FOLDER}/{INDEX} is not an index of models"))
}

/// Compares every model with every version that has recorded results.
fn compare() -> Result<Vec<Compared>> {
    let mut all = Vec::new();
    for model in index()?.models {
        for (version, truth) in &model.onnxruntime {
            let measurement = Measurements::embedded()
                .get(RUNTIME, version)?
                .with_context(|| format!("{FOLDER}/{INDEX} names {RUNTIME} {version}, which is not measured"))?;
            let questions = CheckQuestions { runtimes: vec![measurement], ..CheckQuestions::default() };
            let path = workspace::root().join(FOLDER).join(&model.file);
            let report = examine(&path, &questions, &Limits::default());
            all.push(Compared {
                version: version.clone(),
                file: model.file.clone(),
                prediction: report.runtimes.first().map(|runtime| runtime.verdict),
                truth: truth.outcome,
                line: report.verdict,
            });
        }
    }
    Ok(all)
}

/// Prints each model with its prediction and the truth.
pub(crate) fn main() -> Result<()> {
    for Compared { version, file, prediction, truth, line } in compare()? {
        let prediction = prediction.map_or_else(|| "no answer".to_owned(), |verdict| verdict.to_string());
        anstream::println!("{version} {truth:?}: {prediction}: {file}: {line}");
    }
    Ok(())
}

/// First lines of the table in the documentation.
pub(crate) const HEAD: &str =
    "| predicted | version | runs | fails when run | does not load |\n|---|---|--:|--:|--:|\n";

/// Returns the rows of the table: the number of models by prediction and truth.
pub(crate) fn rows() -> Result<String> {
    let mut counts: BTreeMap<(Prediction, String), [usize; 3]> = BTreeMap::new();
    for one in compare()? {
        let [runs, fails, does_not_load] = counts.entry((one.prediction, one.version)).or_default();
        *match one.truth {
            Behaviour::Runs => runs,
            Behaviour::FailsWhenRun => fails,
            Behaviour::DoesNotLoad => does_not_load,
        } += 1;
    }
    let mut text = String::new();
    for ((prediction, version), [runs, fails, does_not_load]) in counts {
        let prediction =
            prediction.map_or_else(|| "no answer: the model has errors".to_owned(), |it| format!("*{it}*"));
        let _ = writeln!(text, "| {prediction} | {version} | {runs} | {fails} | {does_not_load} |");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_index_lists_every_model() {
        let listed: BTreeSet<String> = index().unwrap().models.into_iter().map(|model| model.file).collect();
        let folder = workspace::root().join(FOLDER);
        let folders = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
        let name = |path: &std::path::Path| path.strip_prefix(&folder).unwrap().display().to_string();
        assert_eq!(files.map(|path| name(&path)).collect::<BTreeSet<_>>(), listed);
    }

    #[test]
    fn predictions_agree_with_the_truth() {
        let all = compare().unwrap();
        for one in &all {
            let place = format!("{} on {RUNTIME} {}: {}", one.file, one.version, one.line);
            match one.prediction {
                Some(RuntimeVerdict::WillNotLoad) => assert_eq!(one.truth, Behaviour::DoesNotLoad, "{place}"),
                Some(RuntimeVerdict::FailsWhenRun) => assert_ne!(one.truth, Behaviour::Runs, "{place}"),
                Some(RuntimeVerdict::Runs | RuntimeVerdict::Inexact | RuntimeVerdict::LikelyRuns) => {
                    assert_eq!(one.truth, Behaviour::Runs, "{place}");
                }
                _ => {}
            }
        }
        let are = |one: &&Compared| one.prediction.is_some_and(|verdict| verdict <= RuntimeVerdict::LikelyRuns);
        let run = all.iter().filter(|one| one.truth == Behaviour::Runs).count();
        assert!(all.iter().filter(are).count() * 10 > run * 8, "few models are predicted to run");
    }
}
