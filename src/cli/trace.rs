//! `trace`: the value of every node of a case or a model on the built-in executor.

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_cases::case::{Case, FolderData, Named, TextRelease};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::executor::{RunError, Step, run_traced};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_report::describe_case::{describe_expected, shown};
use onnx_conformance_report::models::{is_stdin, model_name};

use crate::cli::body::function_body;
use crate::cli::find_case::find;
use crate::cli::limits::{Allowance, LimitOptions};
use crate::cli::screen::ScreenOptions;
use crate::cli::trace_model::{SearchOptions, first_inputs, home, search};
use crate::cli::usage::Usage;
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the case, or a model file, or - for a model on standard input
    #[arg(value_name = "CASE|MODEL")]
    case: String,

    #[command(flatten)]
    search: SearchOptions,

    /// Replace the operator with the function body that defines it, as in the vendored cases
    #[arg(long)]
    body: bool,

    #[command(flatten)]
    sources: options::Sources,

    #[command(flatten)]
    limits: LimitOptions,

    #[command(flatten)]
    screen: ScreenOptions,
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        self.screen.is_shortened()
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let allowance = arguments.limits.start();
    if let Some(model) = model_file(&arguments.case) {
        if arguments.body || arguments.sources.suite.is_some() || arguments.sources.specs.is_some() {
            bail!(Usage("--body, --suite and --specs are about cases, but a model file is given".to_owned()));
        }
        if arguments.search.runtime.is_some() {
            return search(model, &arguments.search, allowance);
        }
        return trace_file(model, &arguments.search, &allowance);
    }
    if arguments.search.is_given() {
        bail!(Usage(format!(
            "--runtime, --against, --inputs, --format and -o need a model file, and there is no file {}; `run --runtime` runs a case",
            arguments.case
        )));
    }
    let case = find(&arguments.sources, TextRelease::newest(), &arguments.case)?;
    print::line(&format!("case {}", line(&case.id)))?;
    if let Some(rule) = &case.rule {
        print::line(&format!("rule {}", line(&rule.to_string())))?;
    }
    for (number, data) in case.data.iter().enumerate() {
        if case.data.len() > 1 {
            print::line(&format!("test_data_set_{number}"))?;
        }
        if arguments.body {
            let body = function_body(&arguments.sources, &case, data)?;
            print::line(&format!("function body from {}", line(&body.id)))?;
            trace(&case, &body.model, &body.inputs, &allowance)?;
        } else {
            trace(&case, &case.model, &data.inputs, &allowance)?;
        }
        if case.refusal.is_none() {
            print::line(&describe_expected(data))?;
        }
    }
    Ok(exit::SUCCESS)
}

/// Returns the path if the argument is one of a model: a file, a name that ends in `.onnx`, or `-`.
fn model_file(argument: &str) -> Option<&Path> {
    let path = Path::new(argument);
    let is_model =
        is_stdin(path) || path.is_file() || path.extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx"));
    is_model.then_some(path)
}

/// Prints the value of every node of a model file.
fn trace_file(path: &Path, options: &SearchOptions, allowance: &Allowance) -> anyhow::Result<u8> {
    if options.asks_about_runtime() {
        bail!(Usage("-o, --against and --format need --runtime, the runtime to compare".to_owned()));
    }
    let model = allowance.read(path)?;
    let (source, inputs) = first_inputs(path, &model, options, allowance)?;
    let name = model_name(path);
    print::line(&format!("model {}, {}", line(&name), line(&source)))?;
    let case = Case { folder: Some(home(path).to_owned()), ..Case::without_data(&name) };
    trace(&case, &model, &inputs, allowance)?;
    Ok(exit::SUCCESS)
}

/// Runs a model and prints its inputs, then each node's outputs as soon as it has run. Ends with the error of a failing run.
fn trace(case: &Case, model: &Bytes, inputs: &[Named], allowance: &Allowance) -> anyhow::Result<()> {
    for input in inputs {
        print::line(&format!("  input {} = {}", line(&input.name), shown(&input.value)))?;
    }
    let (deadline, bytes) = (allowance.deadline(), allowance.memory());
    let external = FolderData::new(case.folder.as_deref(), deadline.clone());
    let loading = LoadLimits { deadline: deadline.clone(), bytes };
    let limit_error = |error: &dyn std::fmt::Display| {
        allowance.limit_error(&format!("{} was not traced to its end ({error})", case.id))
    };
    let model = match read_model(model.clone(), &external, &loading) {
        Err(error @ ModelError::Limit(_)) => return Err(limit_error(&error)),
        model => model.context("the model does not load")?,
    };
    let values = inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    let printed = Mutex::new(Ok(()));
    let step = |step: &Step<'_>| {
        if let Ok(mut printed) = printed.lock()
            && printed.is_ok()
        {
            *printed = print_step(step);
        }
    };
    let ran = run_traced(&model, values, ExecutionLimits { deadline, bytes, ..ExecutionLimits::default() }, &step);
    printed.into_inner().unwrap_or(Ok(()))?;
    if let Err(RunError::Kernel(error)) = &ran
        && matches!(error.root(), KernelError::Limit(_) | KernelError::Deadline)
    {
        return Err(limit_error(error));
    }
    if let Err(error) = ran {
        let expected = if case.refusal.is_some() { ", as required" } else { "" };
        print::line(&format!("  refused{expected}: {}", line(&error.to_string())))?;
    } else if case.refusal.is_some() {
        bail!("the case must be refused, but it runs");
    }
    Ok(())
}

/// Prints the outputs of a node: `y = Abs(x)`, then each value.
fn print_step(step: &Step<'_>) -> anyhow::Result<()> {
    let indent = "  ".repeat(step.depth + 1);
    let node = step.node;
    let call = format!("{} = {}({})", node.outputs.join(", "), node.op_type, node.inputs.join(", "));
    print::line(&format!("{indent}{}", line(&call)))?;
    for (name, value) in node.outputs.iter().zip(step.outputs) {
        if let Some(value) = value {
            print::line(&format!("{indent}  {} = {}", line(name), shown(value)))?;
        }
    }
    Ok(())
}
