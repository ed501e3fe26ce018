//! The tables of docs/tools.md: what the measured tools answer to questions about models.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use onnx_conformance_harness::expectations::{Expectations, version_key};
use onnx_conformance_harness::questions::Completeness;
use onnx_conformance_harness::run::Outcome;
use walkdir::WalkDir;

use crate::workspace;

/// The page with the tables.
pub(crate) const PAGE: &str = "docs/tools.md";

/// Folder of the measurements of tools.
const FOLDER: &str = "expectations/tools";

/// A table: its head, and the cells of a row for a measurement; none if it does not answer the question.
struct Table {
    head: &'static str,
    cells: fn(&Answered<'_>) -> Option<Vec<usize>>,
}

const TABLES: [Table; 6] = [
    Table {
        head: "| checker | invalid: refused | accepted | valid: accepted | refused | no answer |\n|---|--:|--:|--:|--:|--:|\n",
        cells: |tool| {
            let (valid, invalid) = (tool.to("check")?, tool.to("check-refusals")?);
            let no_answer = valid.no_answer() + invalid.no_answer();
            let accepted = invalid.count(&[Outcome::Accepted]);
            Some(vec![invalid.right(), accepted, valid.right(), valid.count(&[Outcome::Error]), no_answer])
        },
    },
    Table {
        head: "| shape inference | models | sound | wrong type | wrong shape | refused | no answer | all sizes | ranks | types | less |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        cells: |tool| {
            let asked = tool.to("infer")?;
            let known = |what| tool.file.complete.as_ref().and_then(|all| all.get(&what)).copied().unwrap_or_default();
            let (types, shapes) = (asked.count(&[Outcome::WrongType]), asked.count(&[Outcome::WrongShape]));
            let mut cells = vec![asked.total(), asked.right(), types, shapes, asked.refused(), asked.no_answer()];
            let all = [Completeness::Shape, Completeness::Rank, Completeness::Type, Completeness::Nothing];
            cells.extend(all.map(known));
            Some(cells)
        },
    },
    Table {
        head: "| converter, to the next version | models | right | declined | wrong values | invalid | wrong opset | error | no answer |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        cells: |tool| Some(tool.to("upgrade")?.of_converter()),
    },
    Table {
        head: "| converter, to the previous version | models | right | declined | wrong values | invalid | wrong opset | error | no answer |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        cells: |tool| Some(tool.to("downgrade")?.of_converter()),
    },
    Table {
        head: "| optimizer | models | right | declined | wrong values | invalid | other inputs or outputs | error | no answer |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        cells: |tool| Some(tool.to("optimize")?.of_rewriter()),
    },
    Table {
        head: "| conversion to half precision | models | right | declined | wrong values | invalid | other inputs or outputs | error | no answer |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        cells: |tool| Some(tool.to("float16")?.of_rewriter()),
    },
];

/// A measurement of a tool.
struct Answered<'a> {
    file: &'a Expectations,
}

impl Answered<'_> {
    /// Returns the answers to a question.
    fn to(&self, question: &str) -> Option<Counts<'_>> {
        self.file.answers.as_ref()?.get(question).map(Counts)
    }
}

/// Numbers of answers by outcome.
struct Counts<'a>(&'a BTreeMap<Outcome, usize>);

impl Counts<'_> {
    fn count(&self, outcomes: &[Outcome]) -> usize {
        outcomes.iter().filter_map(|outcome| self.0.get(outcome)).sum()
    }

    fn total(&self) -> usize {
        self.0.values().sum()
    }

    fn right(&self) -> usize {
        self.count(&[Outcome::Pass])
    }

    /// Returns the number of valid models that the tool declines or fails on.
    fn refused(&self) -> usize {
        self.count(&[Outcome::Unsupported, Outcome::Error])
    }

    fn no_answer(&self) -> usize {
        self.count(&[Outcome::Timeout, Outcome::OutOfMemory, Outcome::Crash, Outcome::ProtocolError])
    }

    fn wrong(&self) -> usize {
        self.count(&[Outcome::Mismatch, Outcome::WrongShape, Outcome::WrongType])
    }

    fn of_converter(&self) -> Vec<usize> {
        let (declined, error) = (self.count(&[Outcome::Unsupported]), self.count(&[Outcome::Error]));
        let invalid = self.count(&[Outcome::InvalidModel, Outcome::WrongInterface]);
        let opset = self.count(&[Outcome::WrongOpset]);
        vec![self.total(), self.right(), declined, self.wrong(), invalid, opset, error, self.no_answer()]
    }

    fn of_rewriter(&self) -> Vec<usize> {
        let (declined, error) = (self.count(&[Outcome::Unsupported]), self.count(&[Outcome::Error]));
        let (invalid, interface) = (self.count(&[Outcome::InvalidModel]), self.count(&[Outcome::WrongInterface]));
        vec![self.total(), self.right(), declined, self.wrong(), invalid, interface, error, self.no_answer()]
    }
}

/// Returns the page with new tables.
pub(crate) fn page() -> Result<String> {
    let mut page = fs::read_to_string(workspace::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let files = measurements(&workspace::root().join(FOLDER))?;
    for table in TABLES {
        let (before, rest) = page.split_once(table.head).with_context(|| format!("{PAGE}: no table {}", table.head))?;
        let rest: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
        let row = |file: &Expectations| {
            let cells = (table.cells)(&Answered { file })?.into_iter().map(|count| count.to_string());
            let version = file.version.as_deref().unwrap_or_default();
            Some(format!("| {} {version} | {} |\n", file.runtime, cells.collect::<Vec<_>>().join(" | ")))
        };
        let rows: String = files.iter().filter_map(row).collect();
        page = format!("{before}{}{rows}{rest}", table.head);
    }
    Ok(page)
}

/// Reads the measurements of tools, sorted by tool, then by version.
fn measurements(folder: &Path) -> Result<Vec<Expectations>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder) {
        let path = entry?.into_path();
        if path.extension().is_some_and(|end| end == "yaml") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            files.push(Expectations::parse(&path.display().to_string(), &text)?);
        }
    }
    let key = |file: &Expectations| (file.runtime.clone(), version_key(file.version.as_deref().unwrap_or_default()));
    files.sort_by_key(key);
    Ok(files)
}
