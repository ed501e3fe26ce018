//! The project's own tasks.

mod emit;
mod generated;
mod import_specs;
mod proto;
mod python;
mod report;
mod vendor;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the files that are generated from the Rust types.
    Gen(generated::Arguments),
    /// Write the version files and releases.yaml under specs/ from the onnx Python package.
    ImportSpecs(import_specs::Arguments),
    /// Run the whole suite on the built-in executor and write a compatibility matrix.
    Report(report::Arguments),
    /// Write the cases of the onnx Python package into testdata/onnx/RELEASE.
    Vendor(vendor::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().task {
        Task::Gen(arguments) => generated::run(&arguments)?,
        Task::ImportSpecs(arguments) => import_specs::run(&arguments)?,
        Task::Report(arguments) => return Ok(ExitCode::from(report::main(&arguments)?)),
        Task::Vendor(arguments) => vendor::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
