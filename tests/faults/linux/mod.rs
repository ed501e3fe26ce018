//! The tests, and the adapter that they run.

mod adapter;
mod dies;
mod folders;
mod harness;
mod interrupt;
mod leaves;
mod lies;
mod litter;
mod litters;
mod names;
mod program;
mod silent;
#[path = "../../../examples/template_adapter.rs"]
mod template_adapter;
mod whole;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Tests of a module, by name.
type Tests = &'static [(&'static str, fn())];

pub(crate) fn main() -> ExitCode {
    if let Some(code) = harness::main() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<&str>>()[..] {
        ["adapter", "template"] => return template_adapter::main(),
        ["adapter", fault, ref rest @ ..] => return adapter::main(fault, rest),
        _ => {}
    }
    let modules: [Tests; 10] = [
        whole::TESTS,
        silent::TESTS,
        lies::TESTS,
        dies::TESTS,
        leaves::TESTS,
        litters::TESTS,
        names::TESTS,
        interrupt::TESTS,
        folders::TESTS,
        harness::TESTS,
    ];
    let trials = modules.concat().into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
