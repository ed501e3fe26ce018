//! `check --fix` and `check --write-shapes`: an edited copy of a model.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::{MAX_BINARY, external_locations, read_file};
use onnx_conformance_check::convert::{fix, left_to_the_user, missing_declarations};
use onnx_conformance_check::infer::infer_facts;
use onnx_conformance_check::scan::scan;
use onnx_conformance_check::{Level, Limits, Report, check};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_report::models::ModelFolder;

use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::usage::Usage;

/// Requested edits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Apply the safe edits that the check names.
    pub(crate) fix: bool,
    /// Declare the inferred types and shapes of values.
    pub(crate) shapes: bool,
}

/// Result of the edits of a model.
pub(crate) struct EditedModel {
    /// The file to report on: the new one, or the original if nothing was written.
    pub(crate) file: PathBuf,
    /// The edits and the written file, a line each.
    pub(crate) lines: Vec<String>,
}

/// Writes an edited copy of a model to a new file. Nothing is written if there is nothing to edit, or if the copy would break more
/// rules.
pub(crate) fn write_edited(
    model: &Path,
    output: &Path,
    wanted: Wanted,
    limits: &Limits,
) -> anyhow::Result<EditedModel> {
    OutputFiles::default().reading("the model itself", [model]).add(output, Kind::Model)?;
    let shown = output.display();
    if output.exists() {
        bail!(Usage(format!("{shown} already exists; choose another file")));
    }
    let context = || model.display().to_string();
    let original = read_file(model, MAX_BINARY).with_context(context)?;
    let folder = ModelFolder::for_model(model);
    let before = check(original.as_slice(), Some(&folder), limits);
    let unedited = |line: &str| Ok(EditedModel { file: model.to_owned(), lines: vec![line.to_owned()] });
    let Some(scanned) = &before.scan else { return unedited("the file is not a model, so it cannot be edited") };
    if let Some(data) = external_locations(&scanned.model).first()
        && home(output).canonicalize().ok() != home(model).canonicalize().ok()
    {
        bail!(Usage(format!(
            "the model has external data in its folder, such as {data}; write {shown} to the same folder"
        )));
    }
    let (mut file, mut lines) = (original, Vec::new());
    if wanted.fix
        && let Some(fixed) = fix(&file, limits).with_context(context)?
    {
        lines.push(if fixed.edits.len() == 1 { "1 edit".to_owned() } else { format!("{} edits", fixed.edits.len()) });
        lines.extend(fixed.edits.iter().map(|edit| format!("  {edit}")));
        file = fixed.file;
    }
    if wanted.shapes
        && let Ok(scan) = scan(file.as_slice(), limits)
    {
        let (edits, count) = missing_declarations(&infer_facts(&scan.model, limits));
        if count > 0 {
            file = edits.apply(&file).with_context(context)?;
            lines.push(format!(
                "{} declared with inferred type and shape",
                if count == 1 { "1 value is".to_owned() } else { format!("{count} values are") }
            ));
        }
    }
    let left = left_to_the_user(&before).filter(|_| wanted.fix);
    if lines.is_empty() {
        let mut unedited = unedited("there is nothing to edit, so nothing is written")?;
        unedited.lines.extend(left);
        return Ok(unedited);
    }
    lines.extend(left);
    let after = check(file.as_slice(), Some(&folder), limits);
    if limits.deadline.is_over() {
        bail!("{}: the time limit is exceeded, so nothing is written; raise it with --timeout", context());
    }
    if severity(&after) > severity(&before) {
        return unedited("the edited model would break more rules, so nothing is written");
    }
    write_whole(output, &file).with_context(|| shown.to_string())?;
    lines.push(format!("wrote {shown}"));
    Ok(EditedModel { file: output.to_owned(), lines })
}

fn home(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the numbers of findings, the worst level first.
fn severity(report: &Report) -> [usize; 3] {
    let count = |level| report.findings.iter().filter(|finding| finding.level == level).count();
    [Level::Error, Level::Warning, Level::Note].map(count)
}
