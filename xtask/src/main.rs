//! The project's own tasks.

mod adapters;
mod bench_protocol;
mod ci;
mod emit;
mod faults;
mod foreign;
mod fuzz;
mod generated;
mod import_specs;
mod measure;
mod new_op;
mod proto;
mod python;
mod report;
mod site;
mod tidy;
mod unchanged;
mod vendor;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use onnx_conformance::cli::coverage;

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure what the harness adds to a case over what an adapter takes.
    BenchProtocol(bench_protocol::Arguments),
    /// Do what CI does, a step at a time, and print the time of each.
    Ci(ci::Arguments),
    /// Run cases, and list what they leave out of what there is to reach, and the totals.
    Coverage(coverage::Arguments),
    /// Be the adapter of bench-protocol.
    #[command(hide = true)]
    EchoAdapter(bench_protocol::Echo),
    /// Seed wrong kernels of every kind, and fail for one that no required case notices.
    Faults(faults::Arguments),
    /// Feed made-up inputs to everything that reads what a user gives.
    Fuzz(fuzz::Arguments),
    /// Write the files that are generated from the Rust types.
    Gen(generated::Arguments),
    /// Write the version files and releases.yaml under specs/ from the onnx Python package.
    ImportSpecs(import_specs::Arguments),
    /// Measure what versions of runtimes do with every case, and write it below expectations/.
    Measure(measure::Arguments),
    /// Write a first op.yaml for an operator.
    NewOp(new_op::Arguments),
    /// Run the whole suite on the built-in executor, and write the site that shows it beside all measurements.
    Report(report::Arguments),
    /// Make the Python environments of adapters, in the newest versions that they are for.
    Setup(adapters::Arguments),
    /// Write the site of `onnx-conformance report` with what its pages compute in a browser.
    Site(site::Arguments),
    /// Try the site of `onnx-conformance report` in Chromium.
    SiteTests,
    /// Check what the project holds itself to: the order of modules, the size of files, what documents promise.
    Tidy,
    /// Write which cases are the same as before to records/unchanged.txt, so that older measurements hold for them
    Unchanged(unchanged::Arguments),
    /// Pack the backend tests of ONNX's releases, from their Python packages, into testdata/onnx.
    Vendor(vendor::Arguments),
    /// Build the Python wheel, and use it as its users do.
    Wheel(wheel::Arguments),
}

fn main() -> ExitCode {
    run(&Arguments::parse().task).unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: &Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::BenchProtocol(arguments) => bench_protocol::main(arguments)?,
        Task::Ci(arguments) => ci::main(arguments)?,
        Task::Coverage(arguments) => return Ok(ExitCode::from(coverage::main(arguments)?)),
        Task::EchoAdapter(arguments) => bench_protocol::echo(arguments)?,
        Task::Faults(arguments) => return faults::main(arguments),
        Task::Fuzz(arguments) => return fuzz::main(arguments),
        Task::Gen(arguments) => generated::run(arguments)?,
        Task::ImportSpecs(arguments) => import_specs::run(arguments)?,
        Task::Measure(arguments) => measure::main(arguments)?,
        Task::NewOp(arguments) => new_op::run(arguments)?,
        Task::Report(arguments) => return Ok(ExitCode::from(report::main(arguments)?)),
        Task::Setup(arguments) => adapters::main(arguments)?,
        Task::Site(arguments) => return Ok(ExitCode::from(site::main(arguments)?)),
        Task::SiteTests => ci::site()?,
        Task::Tidy => tidy::run()?,
        Task::Unchanged(arguments) => unchanged::run(arguments)?,
        Task::Vendor(arguments) => vendor::run(arguments)?,
        Task::Wheel(arguments) => wheel::main(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn no_two_options_of_a_task_are_one() {
        super::Arguments::command().debug_assert();
    }
}
