//! The project's own tasks.

mod adapter_digest;
mod adapters;
mod bench_protocol;
mod browser_tests;
mod checkers;
mod ci;
mod emit;
mod exporters;
mod faults;
mod fmt_specs;
mod foreign;
mod freeze;
mod fuzz;
mod generated;
mod graphs;
mod import_specs;
mod launched;
mod layout;
mod measure;
mod measure_tool;
mod measured_tools;
mod new_op;
mod packed_readme;
mod profile;
mod proto;
mod python;
mod release;
mod report;
mod site;
mod texts;
mod tidy;
mod tools;
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
    /// Measure the harness's overhead per case.
    BenchProtocol(bench_protocol::Arguments),
    /// Run all CI steps in order, and print the time of each.
    Ci(ci::Arguments),
    /// Run cases, and list the uncovered items and the totals.
    Coverage(coverage::Arguments),
    /// Run the adapter of bench-protocol.
    #[command(hide = true)]
    EchoAdapter(bench_protocol::Echo),
    /// Compare the predictions of `check --runtime` for the models of exporters with what the runtime did.
    Exporters,
    /// Seed wrong kernels of every kind, and fail if no required case detects one of them.
    Faults(faults::Arguments),
    /// Check the graphs in specs/graphs: rewrites keep good forms and change near misses, and exact values are not rounded
    Graphs(graphs::Arguments),
    /// Write the files of cases below specs/ in their layout.
    FmtSpecs(fmt_specs::Arguments),
    /// Write the list of cases of the suite's version, or check that no case differs from it.
    Freeze,
    /// Fuzz everything that reads user input.
    Fuzz(fuzz::Arguments),
    /// Write the generated files.
    Gen(generated::Arguments),
    /// Write the version files, the releases and the texts under specs/ from the onnx Python package.
    ImportSpecs(import_specs::Arguments),
    /// Measure versions of runtimes on every case, and write the results below expectations/.
    Measure(measure::Arguments),
    /// Write a first op.yaml for an operator.
    NewOp(new_op::Arguments),
    /// Import a release, a candidate or a development build of ONNX, and list what is left to do.
    NewRelease(release::new_release::Arguments),
    /// Compare the newest development build of ONNX and the newest runtimes with what is committed, and write nothing to the tree.
    Next(release::next::Arguments),
    /// Write the list of the profile `pr`, and print what it detects of what the whole suite detects.
    Profile(profile::Arguments),
    /// Run the whole suite on the built-in executor, and write a site with its results and all measurements.
    Report(report::Arguments),
    /// Create the Python environments of adapters, for their newest versions.
    Setup(adapters::Arguments),
    /// Write the site of `onnx-conformance report` with the program that its pages run in a browser.
    Site(site::Arguments),
    /// Test the site of `onnx-conformance report` in Chromium.
    SiteTests,
    /// Test the operator versions of specs/next, in a build with the feature `next`.
    TestNext,
    /// Check the project's own rules: order of modules, size of files, promises of documents.
    Tidy,
    /// Pack the backend tests of ONNX's releases, from their Python packages, into testdata/onnx.
    Vendor(vendor::Arguments),
    /// Build the Python wheel, and test it as its users would.
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
        Task::Exporters => exporters::main()?,
        Task::Faults(arguments) => return faults::main(arguments),
        Task::Graphs(arguments) => return graphs::main(arguments),
        Task::FmtSpecs(arguments) => fmt_specs::main(arguments)?,
        Task::Freeze => freeze::main()?,
        Task::Fuzz(arguments) => return fuzz::main(arguments),
        Task::Gen(arguments) => generated::run(arguments)?,
        Task::ImportSpecs(arguments) => import_specs::run(arguments)?,
        Task::Measure(arguments) => measure::main(arguments)?,
        Task::NewOp(arguments) => new_op::run(arguments)?,
        Task::NewRelease(arguments) => release::new_release::main(arguments)?,
        Task::Next(arguments) => release::next::main(arguments)?,
        Task::Profile(arguments) => profile::main(arguments)?,
        Task::Report(arguments) => return Ok(ExitCode::from(report::main(arguments)?)),
        Task::Setup(arguments) => adapters::main(arguments)?,
        Task::Site(arguments) => return Ok(ExitCode::from(site::main(arguments)?)),
        Task::SiteTests => ci::site_tests()?,
        Task::TestNext => release::next_specs::test()?,
        Task::Tidy => tidy::run()?,
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
