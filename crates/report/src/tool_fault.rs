//! A fault of a tool as text, and as an issue in markdown.

use std::fmt::Write as _;

use onnx_conformance_cases::case::{Case, question_about};
use onnx_conformance_harness::escape::{line, markdown};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::ToolFault;
use onnx_conformance_harness::measure::measured_tools;
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_reference::proto::decode;

use crate::describe_case::describe_parts;
use crate::site::model_text;

/// Formats a fault for the terminal.
pub fn tool_fault_text(tool: &str, fault: &ToolFault) -> Result<String, ExpectationError> {
    let mut text = format!("{tool}/{}\n  title     {}\n", fault.id, line(&fault.title));
    if let Some(quote) = &fault.quote {
        let _ = writeln!(text, "  standard  \"{}\"", line(quote.trim()));
    }
    let _ = writeln!(text, "  tool      {}", line(fault.says.trim()));
    if !fault.also.is_empty() {
        let _ = writeln!(text, "  also      {}", fault.also.join(", "));
    }
    if let Some(pass) = &fault.pass {
        let _ = writeln!(text, "  pass      {}", line(pass));
    }
    let _ = writeln!(text, "  versions  {}", versions(tool, fault)?);
    if let Some(seen) = &fault.seen {
        let _ = writeln!(text, "  varies    from run to run; seen in {} on {}", line(&seen.version), line(&seen.date));
    }
    let _ = writeln!(text, "  sample    {} ({})", fault.sample, fault.outcome);
    let _ = write!(text, "  run       {}", command(tool, fault));
    Ok(text)
}

/// Returns an issue in markdown, ready to file. The sample is the case of the fault in the form that the tool gets.
pub fn tool_issue(tool: &str, fault: &ToolFault, sample: &Case) -> Result<String, ExpectationError> {
    let mut text = format!("# {}\n\n{}\n", markdown(&fault.title), markdown(fault.says.trim()));
    if let Some(quote) = &fault.quote {
        let _ = write!(text, "\nThe standard: \"{}\"\n", markdown(quote.trim()));
    }
    if let Some(pass) = &fault.pass {
        let _ = write!(text, "\nThe pass `{pass}` alone does it.\n");
    }
    let _ = write!(text, "\nMeasured in {}.\n", versions(tool, fault)?);
    if let Some(seen) = &fault.seen {
        let (version, date) = (markdown(&seen.version), markdown(&seen.date));
        let _ = write!(text, "\nThe outcome varies from run to run. A run of {version} on {date} showed it.\n");
    }
    if let Some(script) = script(tool, fault, sample) {
        let _ = write!(text, "\n```python\n{script}```\n");
    }
    let _ = write!(text, "\nThe same with the suite that found it:\n\n    {}\n", command(tool, fault));
    let parts = describe_parts(sample);
    let _ = write!(text, "\nModel, inputs and expected outputs (case `{}`):\n\n```\n{parts}\n```\n", fault.sample);
    Ok(text)
}

/// Describes the measured versions of the tool: `onnxslim 0.1.98; 0.1.60 passes`.
fn versions(tool: &str, fault: &ToolFault) -> Result<String, ExpectationError> {
    let version_of = |subject: &str, is_newest: bool| {
        let mut versions = measured_tools()?.iter().filter(|file| file.runtime == subject);
        let found = if is_newest { versions.next_back() } else { versions.next() };
        Ok::<_, ExpectationError>(found.and_then(|file| file.version.clone()))
    };
    let subject = if fault.mode.is_empty() { tool.to_owned() } else { format!("{tool}-{}", fault.mode) };
    let newest = version_of(&subject, true)?.unwrap_or_default();
    // Only the plain mode of a tool is measured in an older version.
    let older = version_of(tool, false)?.filter(|older| *older != newest);
    let verb = fault.older.map(|fails| if fails { "fails, too" } else { "passes" });
    let older = older.zip(verb).map(|(older, verb)| format!("; {older} {verb}")).unwrap_or_default();
    Ok(format!("{tool} {newest}{older}"))
}

/// The command that runs the sample.
fn command(tool: &str, fault: &ToolFault) -> String {
    let (plain, variant) = fault.sample.rsplit_once('@').unwrap_or((&fault.sample, ""));
    format!("onnx-conformance run --runtime {} --variant {variant} '{}'", fault.command(tool), plain)
}

/// Returns a Python program that asks the tool about a case; `None` if the model has no text or the tool no Python code.
fn script(tool: &str, fault: &ToolFault, sample: &Case) -> Option<String> {
    let runtimes = Runtimes::embedded().ok()?;
    let call = runtimes.python_of_tool(tool)?;
    let model = model_text(&decode::model(sample.model.clone()).ok()?)?;
    let opset = question_about(sample).opset.map(|opset| opset.to_string()).unwrap_or_default();
    let ask = call.run.trim_end().replace("{opset}", &opset).replace("{mode}", &fault.mode);
    let print = if ask.contains("result") { "print(onnx.printer.to_text(result))\n" } else { "" };
    let import = &call.import;
    Some(format!(
        "import onnx\nimport onnx.parser\nimport onnx.printer\n{import}\n\nmodel = onnx.parser.parse_model(r'''\n{model}''')\n{ask}\n{print}"
    ))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::findings::ToolFaults;

    use super::*;

    #[test]
    fn every_fault_names_its_measured_version_and_a_command() {
        for tool in ToolFaults::embedded().unwrap() {
            for fault in &tool.faults {
                let text = tool_fault_text(&tool.tool, fault).unwrap();
                let measured = format!("  versions  {} ", tool.tool);
                let version = text.lines().find_map(|line| line.strip_prefix(&measured)).unwrap_or_default();
                assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{text}");
                assert!(text.contains("--variant"), "{text}");
                assert_eq!(text.contains("\n  varies    from run to run; seen in "), fault.varies, "{text}");
            }
        }
    }
}
