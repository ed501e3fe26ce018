//! The tables of docs/tools.md: what the measured tools answer to questions about models.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use onnx_conformance_harness::expectations::{Expectations, refusals_name};
use onnx_conformance_harness::findings::{ToolFault, ToolFaults};
use onnx_conformance_harness::questions::{Completeness, Metadata};
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion};
use onnx_conformance_report::tools::{AnsweredPart, Counts, QuestionAnswers, QuestionRow, questions};
use onnx_conformance_subject::{Models, Variant};

use crate::checkers;
use crate::measured_tools::{measurements, yaml_files};
use crate::workspace;

/// The page with the tables.
pub(crate) const PAGE: &str = "docs/tools.md";

/// The columns of a table of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableForm {
    /// Valid and invalid models by answer.
    Checker,
    /// Models by the soundness of the answer, and sound answers by completeness.
    Inference,
    /// Models by the outcome of the answer, including the outcome for another opset.
    Converter,
    /// Models by the outcome of the answer, including the outcome for other inputs or outputs.
    Rewriter,
}

impl TableForm {
    /// Returns the form of the table of a question.
    fn of(variant: Variant) -> TableForm {
        match variant.question().facts().models {
            _ if variant.facts().direction.is_some() => TableForm::Converter,
            Models::ValidOrInvalid => TableForm::Checker,
            Models::WithoutTypes => TableForm::Inference,
            Models::All | Models::Valid | Models::ValidOrDeprecated | Models::SinglePrecision => TableForm::Rewriter,
        }
    }

    /// Returns the text before the table.
    fn note(self) -> &'static str {
        match self {
            TableForm::Inference => "The last four columns count sound answers by what is known of every output.\n\n",
            TableForm::Checker | TableForm::Converter | TableForm::Rewriter => "",
        }
    }
}

/// Returns the first lines of the table of a question.
fn head(form: TableForm) -> String {
    let columns: &[&str] = match form {
        TableForm::Checker => &["invalid: refused", "accepted", "valid: accepted", "refused", "no answer"],
        TableForm::Inference => &[
            "models",
            "sound",
            "wrong type",
            "wrong shape",
            "refused",
            "no answer",
            "all sizes",
            "ranks",
            "types",
            "less",
        ],
        TableForm::Converter => {
            &["models", "right", "declined", "wrong values", "invalid", "wrong opset", "error", "no answer"]
        }
        TableForm::Rewriter => {
            &["models", "right", "declined", "wrong values", "invalid", "other inputs or outputs", "error", "no answer"]
        }
    };
    format!("| tool | {} | CPU s |\n|---|--:|{}\n", columns.join(" | "), "--:|".repeat(columns.len()))
}

/// Returns the cells of a measurement in the table of a question; `None` if it does not answer the question.
fn cells(variant: Variant, tool: &Answered<'_>) -> Option<Vec<usize>> {
    let asked = tool.to(variant.name())?;
    match TableForm::of(variant) {
        TableForm::Checker => {
            let invalid = tool.to(&refusals_name(variant))?;
            let no_answer = asked.no_answer() + invalid.no_answer();
            let accepted = invalid.count(&[Outcome::Accepted]);
            Some(vec![invalid.right(), accepted, asked.right(), asked.count(&[Outcome::Error]), no_answer])
        }
        TableForm::Inference => {
            let known = |what| tool.file.complete.as_ref().and_then(|all| all.get(&what)).copied().unwrap_or_default();
            let (types, shapes) = (asked.count(&[Outcome::WrongType]), asked.count(&[Outcome::WrongShape]));
            let mut cells = vec![asked.total(), asked.right(), types, shapes, asked.refused(), asked.no_answer()];
            let all = [Completeness::Shape, Completeness::Rank, Completeness::Type, Completeness::Nothing];
            cells.extend(all.map(known));
            Some(cells)
        }
        TableForm::Converter => Some(asked.of_converter()),
        TableForm::Rewriter => Some(asked.of_rewriter()),
    }
}

/// First lines of the table of metadata.
const METADATA_HEAD: &str = "| tool | models with metadata | dropped of the model | of the graph | of inputs and outputs | of nodes |\n|---|--:|--:|--:|--:|--:|\n";

/// Returns the cells of a measurement in the table of metadata.
fn metadata_cells(file: &Expectations) -> Option<Vec<usize>> {
    let counts = file.metadata.as_ref()?;
    let parts = [Metadata::Model, Metadata::Graph, Metadata::Values, Metadata::Nodes];
    let dropped = parts.map(|part| counts.dropped.get(&part).copied().unwrap_or_default());
    Some(std::iter::once(counts.asked).chain(dropped).collect())
}

/// A measurement of a tool.
struct Answered<'a> {
    file: &'a Expectations,
}

impl Answered<'_> {
    /// Returns the answers to a question.
    fn to(&self, question: &str) -> Option<Answers<'_>> {
        self.file.answers.as_ref()?.get(question).map(Answers)
    }
}

/// Numbers of answers by outcome.
struct Answers<'a>(&'a BTreeMap<Outcome, usize>);

impl Answers<'_> {
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

    fn mismatches(&self) -> usize {
        self.count(&[Outcome::Mismatch, Outcome::WrongShape, Outcome::WrongType])
    }

    fn of_converter(&self) -> Vec<usize> {
        let (declined, error) = (self.count(&[Outcome::Unsupported]), self.count(&[Outcome::Error]));
        let invalid = self.count(&[Outcome::InvalidModel, Outcome::WrongInterface]);
        let opset = self.count(&[Outcome::WrongOpset]);
        vec![self.total(), self.right(), declined, self.mismatches(), invalid, opset, error, self.no_answer()]
    }

    fn of_rewriter(&self) -> Vec<usize> {
        let (declined, error) = (self.count(&[Outcome::Unsupported]), self.count(&[Outcome::Error]));
        let (invalid, interface) = (self.count(&[Outcome::InvalidModel]), self.count(&[Outcome::WrongInterface]));
        vec![self.total(), self.right(), declined, self.mismatches(), invalid, interface, error, self.no_answer()]
    }
}

/// Returns the page with new tables.
pub(crate) fn page() -> Result<String> {
    let mut page = fs::read_to_string(workspace::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let files = measurements()?;
    let questions = questions();
    page = with_part(&page, "questions", &question_table(&questions))?;
    let answers: Vec<String> = questions.iter().filter_map(|question| answers_section(files, question)).collect();
    page = with_part(&page, "answers", &answers.join("\n"))?;
    let operators: Vec<String> = questions.iter().filter_map(|question| operators_section(files, question)).collect();
    page = with_part(&page, "operators", &operators.join("\n"))?;
    let row =
        |file: &Expectations| Some(row_text(file, metadata_cells(file)?.into_iter().map(|count| count.to_string())));
    for (head, table) in checkers::tables()? {
        page = with_rows(&page, head, &table)?;
    }
    page = with_rows(&page, METADATA_HEAD, &files.iter().filter_map(row).collect::<String>())?;
    with_rows(&page, FAULTS_HEAD, &fault_rows()?)
}

/// Replaces the part of the page between two comments with its name.
fn with_part(page: &str, name: &str, text: &str) -> Result<String> {
    let [begin, end] = ["", "/"].map(|slash| format!("<!-- {slash}{name} -->\n"));
    let missing = |comment: &str| format!("{PAGE}: there is no {}", comment.trim_end());
    let (before, rest) = page.split_once(&begin).with_context(|| missing(&begin))?;
    let (_, after) = rest.split_once(&end).with_context(|| missing(&end))?;
    Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
}

/// Returns the table of the questions.
fn question_table(questions: &[QuestionRow]) -> String {
    let mut table = "| `--variant` | question | right answer |\n|---|---|---|\n".to_owned();
    table.extend(Variant::ALL.into_iter().filter_map(|variant| {
        let text = variant.facts().text?;
        let right = questions.iter().filter(|question| question.variant == variant).map(|question| question.right);
        Some(format!("| `{variant}` | {} | {} |\n", text.asks, right.collect::<Vec<_>>().join(" ")))
    }));
    table
}

/// Returns the section with the answers to a question; `None` if no tool was asked. Refusals are in the section of their question.
fn answers_section(files: &[Expectations], question: &QuestionRow) -> Option<String> {
    let (variant, form) = (question.variant, TableForm::of(question.variant));
    let text = variant.facts().text.filter(|_| !question.is_of_refusals())?;
    let row = |file: &Expectations| {
        let cells = cells(variant, &Answered { file })?.into_iter().map(|count| count.to_string());
        let seconds = file.cpu_seconds.map(|seconds| seconds.to_string()).unwrap_or_default();
        Some(row_text(file, cells.chain([seconds])))
    };
    let rows: String = files.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| format!("### {}\n{}{}{rows}", text.title, form.note(), head(form)))
}

/// Returns the section with the operators about which tools answer a question wrong; `None` if there is none.
fn operators_section(files: &[Expectations], question: &QuestionRow) -> Option<String> {
    Some(format!("#### {}\n{}", question.title, by_operator(files, question)?))
}

/// Returns a row of a table of measurements.
fn row_text(file: &Expectations, cells: impl Iterator<Item = String>) -> String {
    let version = file.version.as_deref().unwrap_or_default();
    format!("| {} {version} | {} |\n", file.runtime, cells.collect::<Vec<_>>().join(" | "))
}

/// Replaces the rows after a head in the page.
fn with_rows(page: &str, head: &str, rows: &str) -> Result<String> {
    let (before, rest) = page.split_once(head).with_context(|| format!("{PAGE}: there is no {head}"))?;
    let rest: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    Ok(format!("{before}{head}{rows}{rest}"))
}

/// Maximum number of rows of a table of operators.
const ROWS: usize = 12;

/// Returns the table of the operators and topics with the most wrong and invalid answers to a question; `None` if there is none.
fn by_operator(measured: &[Expectations], question: &QuestionRow) -> Option<String> {
    let answers = QuestionAnswers::new(measured, question);
    let mut parts: BTreeMap<String, Vec<Counts>> = BTreeMap::new();
    for part in &answers.parts {
        let sums = parts.entry(whole_part(part)).or_insert_with(|| vec![Counts::default(); answers.newest.len()]);
        for (sum, answers) in sums.iter_mut().zip(&part.answers) {
            sum.add(answers.map(|answers| answers.counts).unwrap_or_default());
        }
    }
    let silent = |counts: &[Counts]| counts.iter().map(Counts::silent).sum::<usize>();
    let mut rows: Vec<(String, Vec<Counts>)> = parts.into_iter().filter(|(_, counts)| silent(counts) > 0).collect();
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(silent(counts)));
    let names = answers.newest.iter().map(|file| file.runtime.as_str()).collect::<Vec<_>>().join(" | ");
    let mut table = format!("| wrong or invalid, of all | {names} |\n|---|{}\n", "--:|".repeat(answers.newest.len()));
    table.extend(rows.iter().take(ROWS).map(|(name, counts)| {
        let cells = counts.iter().map(|counts| format!("{} of {}", counts.silent(), counts.total()));
        format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
    }));
    Some(table)
}

/// Returns the row of a part: the operator, with the pair of versions of a conversion, or the topic of graphs.
fn whole_part(part: &AnsweredPart) -> String {
    match part.name.parse::<OperatorVersion>() {
        Ok(version) => {
            let domain = if version.domain == DEFAULT_DOMAIN { "" } else { &version.domain };
            let slash = if domain.is_empty() { "" } else { "/" };
            let pair = part.target.map(|target| format!(" {} to {target}", version.since)).unwrap_or_default();
            format!("{domain}{slash}{}{pair}", version.name)
        }
        Err(_) => part.name.split('/').take(2).collect::<Vec<_>>().join("/"),
    }
}

/// First lines of the table of faults.
const FAULTS_HEAD: &str = "| tool | fault | sample | outcome | older version |\n|---|---|---|---|---|\n";

/// Folder of the faults of tools.
const FAULTS: &str = "findings/tools";

/// Returns the rows of the table of faults.
fn fault_rows() -> Result<String> {
    let row = |tool: &str, fault: &ToolFault| {
        let ToolFault { title, sample, outcome, older, varies, .. } = fault;
        let varies = if *varies { " (varies)" } else { "" };
        let older = match older {
            Some(true) => "fails",
            Some(false) => "passes",
            None => "",
        };
        format!("| {tool} | {title} | `{sample}` | {outcome}{varies} | {older} |\n")
    };
    let files = faults(&workspace::root().join(FAULTS))?;
    Ok(files.iter().flat_map(|file| file.faults.iter().map(|fault| row(&file.tool, fault))).collect())
}

/// Reads the faults of tools, sorted by tool.
fn faults(folder: &Path) -> Result<Vec<ToolFaults>> {
    let mut files: Vec<ToolFaults> = Vec::new();
    for (path, text) in yaml_files(folder)? {
        files.push(serde_yaml::from_str(&text).with_context(|| path.clone())?);
    }
    files.sort_by(|a, b| a.tool.cmp(&b.tool));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::collections::BTreeSet;

    use onnx_conformance_harness::expectations::{Entry, ExpectationMatcher};
    use onnx_conformance_harness::findings::SeenIn;
    use onnx_conformance_harness::questions::BuiltinTools;
    use onnx_conformance_subject::Declaration;

    use super::*;

    /// Returns the outcome of a case in a measurement.
    fn outcome_in(file: &Expectations, case: &str) -> Outcome {
        let declaration = Declaration::named(&file.runtime, file.version.clone().unwrap());
        let matcher = ExpectationMatcher::new(file.clone(), &declaration, true).unwrap();
        matcher.entry_about(case).map_or(Outcome::Pass, Entry::outcome)
    }

    /// Returns the reason why the measurements do not show a fault of a tool; `None` if they do. The newest one must show it. If its
    /// outcome varies, an earlier one may have shown it, and the newest must show nothing worse.
    fn problem(subject: &str, fault: &ToolFault, measured: &[Expectations]) -> Option<String> {
        let Some(newest) = measured.iter().rfind(|file| file.runtime == subject) else {
            return Some(format!("{subject} has no measurement"));
        };
        let outcome = outcome_in(newest, &fault.sample);
        match (fault.varies, &fault.seen) {
            (false, None) if outcome == fault.outcome => None,
            (true, Some(seen)) if outcome.rank() <= fault.outcome.rank() => not_seen(subject, fault, seen, measured),
            (false, None) | (true, Some(_)) => Some(format!("{} ends with {outcome}", fault.sample)),
            (true, None) | (false, Some(_)) => Some("`varies: true` and `seen` need each other".to_owned()),
        }
    }

    /// Returns the reason why the measurement that a fault names does not show it. If the file of the version is newer, that
    /// measurement is no longer in the tree.
    fn not_seen(subject: &str, fault: &ToolFault, seen: &SeenIn, measured: &[Expectations]) -> Option<String> {
        let is_named =
            |file: &&Expectations| file.runtime == subject && file.version.as_deref() == Some(seen.version.as_str());
        let Some(file) = measured.iter().find(is_named) else {
            return Some(format!("{subject} {} has no measurement", seen.version));
        };
        match file.date.as_deref().unwrap_or_default().cmp(seen.date.as_str()) {
            Ordering::Less => Some(format!("there is no measurement of {subject} {} on {}", seen.version, seen.date)),
            Ordering::Equal => {
                let outcome = outcome_in(file, &fault.sample);
                (outcome != fault.outcome).then(|| format!("{} ends with {outcome} in the named one", fault.sample))
            }
            Ordering::Greater => None,
        }
    }

    #[test]
    fn the_newest_measurement_of_a_tool_shows_each_fault() {
        let measured = measurements().unwrap();
        for file in faults(&workspace::root().join(FAULTS)).unwrap() {
            let mut seen = BTreeSet::new();
            for fault in &file.faults {
                let place = format!("{}/{}", file.tool, fault.id);
                assert!(seen.insert(&fault.id), "{place}: the id is used twice");
                let mode = if fault.mode.is_empty() { String::new() } else { format!("-{}", fault.mode) };
                let problem = problem(&format!("{}{mode}", file.tool), fault, measured);
                assert!(problem.is_none(), "{place}: {problem:?}");
            }
        }
    }

    #[test]
    fn a_fault_that_varies_needs_a_measurement_that_showed_it() {
        let sample = "ai.onnx/Shape-25/slice@optimize";
        let measured = |date: &str, outcome: Option<&str>| {
            let entry = outcome.map(|outcome| format!("{{cases: {sample}, outcome: {outcome}}}")).unwrap_or_default();
            let text = format!("runtime: a\nversion: '1.0'\ndate: '{date}'\nexpect: [{entry}]\n");
            [Expectations::parse("a.yaml", &text).unwrap()]
        };
        let fault = |keys: &str| -> ToolFault {
            let text = format!("{{id: x, title: y, sample: {sample}, outcome: invalid-model, says: z{keys}}}");
            serde_yaml::from_str(&text).unwrap()
        };
        let (always, varies) = ("", ", varies: true, seen: {version: '1.0', date: '2026-02-01'}");
        for (keys, date, outcome, expected) in [
            (always, "2026-02-01", Some("invalid-model"), None),
            (always, "2026-02-01", Some("error"), Some("ends with error")),
            (always, "2026-02-01", None, Some("ends with pass")),
            (varies, "2026-02-01", Some("invalid-model"), None),
            (varies, "2026-02-01", None, Some("ends with pass in the named one")),
            (varies, "2026-01-31", Some("invalid-model"), Some("no measurement of a 1.0 on 2026-02-01")),
            (varies, "2026-02-02", None, None),
            (varies, "2026-02-02", Some("error"), None),
            (varies, "2026-02-02", Some("crash"), Some("ends with crash")),
            (", varies: true", "2026-02-02", Some("invalid-model"), Some("need each other")),
            (varies.replace("varies: true, ", "").as_str(), "2026-02-02", None, Some("need each other")),
            (varies.replace("1.0", "2.0").as_str(), "2026-02-02", None, Some("a 2.0 has no measurement")),
        ] {
            let found = problem("a", &fault(keys), &measured(date, outcome)).unwrap_or_default();
            assert!(expected.map_or(found.is_empty(), |text| found.contains(text)), "{keys} {date}: {found}");
        }
    }

    #[test]
    fn the_page_shows_one_silent_fault_of_each_tool() {
        let page = fs::read_to_string(workspace::root().join(PAGE)).unwrap();
        let (_, section) = page.split_once("### One silent fault of each tool\n").unwrap();
        let rows = section.lines().take_while(|line| !line.starts_with("### "));
        let shown: Vec<&str> = rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0)).collect();
        let files = faults(&workspace::root().join(FAULTS)).unwrap();
        assert_eq!(shown.len(), files.len(), "{shown:?}");
        for file in &files {
            let is_shown = |fault: &&ToolFault| shown.contains(&file.full_id(fault).as_str());
            let of_tool: Vec<&ToolFault> = file.faults.iter().filter(is_shown).collect();
            let [fault] = of_tool.as_slice() else { panic!("{}: {} faults", file.tool, of_tool.len()) };
            let is_silent = fault.outcome != Outcome::Error && !fault.outcome.is_without_answer();
            assert!(is_silent, "{}/{}: {}", file.tool, fault.id, fault.outcome);
        }
    }

    #[test]
    fn no_answer_of_this_project_is_wrong() {
        let measured = measurements().unwrap();
        let own = measured.iter().find(|measured| measured.runtime == "builtin").unwrap();
        let answers = own.answers.as_ref().unwrap();
        let answered = |row: &QuestionRow| BuiltinTools::answers(row.variant.question());
        let asked: BTreeSet<String> = questions().into_iter().filter(answered).map(|row| row.name).collect();
        assert_eq!(answers.keys().cloned().collect::<BTreeSet<_>>(), asked, "measure builtin again");
        assert!(asked.contains("check-refusals"), "{asked:?}");
        for (question, counts) in answers {
            let allowed = [Outcome::Pass, Outcome::Unsupported];
            assert!(counts.keys().all(|outcome| allowed.contains(outcome)), "{question}: {counts:?}");
        }
    }
}
