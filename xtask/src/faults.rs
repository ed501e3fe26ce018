//! Mutation test: checks if the suite detects wrong kernels.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use onnx_conformance_cases::suite::Profile;
use onnx_conformance_faults::{Class, Verdict, all, measure};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Operators; all if none are named
    operators: Vec<String>,

    /// Also print each detected fault with the case that detects it
    #[arg(long)]
    all: bool,

    /// Run only the cases of this profile, and print the share of the faults that they detect
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "write"])]
    profile: Option<String>,

    /// Write the faults that no required case detects to crates/faults/undecided.txt, for review
    #[arg(long)]
    write: bool,
}

/// Returns the path of the list of faults that no required case can be expected to detect.
fn list() -> PathBuf {
    workspace::root().join("crates/faults/undecided.txt")
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let is_chosen = |name: &String| arguments.operators.is_empty() || arguments.operators.contains(name);
    let profile = arguments.profile.as_deref().map_or(Ok(Profile::Full), Profile::named)?;
    let faults = all().into_iter().filter(|fault| is_chosen(&fault.operator)).collect();
    let verdicts = measure(faults, &|id| profile.includes(id))?;
    anyhow::ensure!(!verdicts.is_empty(), "{} has no faults", arguments.operators.join(", "));
    if arguments.profile.is_some() {
        print_shares(&verdicts, &fs::read_to_string(list())?);
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.write {
        anyhow::ensure!(arguments.operators.is_empty(), "the list covers all operators; give no operator");
        fs::write(list(), written(&verdicts))?;
    }
    let text = fs::read_to_string(list())?;
    let mut listed: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut problems = 0;
    for verdict in &verdicts {
        let Verdict { fault, noticed, cases, .. } = verdict;
        let name = fault.to_string();
        let is_listed = listed.remove(name.as_str());
        match (noticed, is_listed || fault.undecided.is_some()) {
            (Some((case, message)), false) if arguments.all => {
                anstream::println!("{fault}\n  detected by {case}: {message}");
            }
            (Some((case, _)), true) => {
                anstream::println!("{fault}\n  is detected by {case}, but is listed as undecided");
                problems += 1;
            }
            (None, true) if arguments.all => {
                anstream::println!(
                    "{fault}\n  undecided: {}",
                    fault.undecided.unwrap_or("see crates/faults/undecided.txt")
                );
            }
            (None, false) => {
                anstream::println!("{fault}\n  not detected by any of {cases} required cases");
                problems += 1;
            }
            _ => {}
        }
    }
    if arguments.operators.is_empty() {
        for name in listed {
            anstream::println!("{name}\n  is listed as undecided, but there is no such fault");
            problems += 1;
        }
    }
    print_shares(&verdicts, &text);
    Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the share of detected faults by class.
fn print_shares(verdicts: &[Verdict], text: &str) {
    anstream::println!("{:<10} {:>7} {:>9} {:>7} {:>12}", "class", "faults", "noticed", "share", "not decided");
    for class in Class::ALL {
        let of_class: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.fault.class == class).collect();
        let noticed = of_class.iter().filter(|verdict| verdict.noticed.is_some()).count();
        let decided =
            of_class.iter().filter(|verdict| verdict.noticed.is_some() || !is_undecided(verdict, text)).count();
        let share = if decided == 0 { 100.0 } else { 100.0 * noticed as f64 / decided as f64 };
        anstream::println!("{class:<10} {decided:>7} {noticed:>9} {share:>6.1}% {:>12}", of_class.len() - decided);
    }
}

fn is_undecided(verdict: &Verdict, text: &str) -> bool {
    verdict.fault.undecided.is_some() || text.lines().any(|line| line == verdict.fault.to_string())
}

/// Formats the list: faults that only optional cases detect, and faults that no case detects at all.
fn written(verdicts: &[Verdict]) -> String {
    let lines = |differs: bool| {
        let open = verdicts.iter().filter(|verdict| verdict.noticed.is_none() && verdict.fault.undecided.is_none());
        let mut lines: Vec<String> = open
            .filter(|verdict| verdict.otherwise.is_some() == differs)
            .map(|verdict| verdict.fault.to_string())
            .collect();
        lines.sort();
        lines.join("\n")
    };
    format!(
        "# Faults that no required case notices, written by `cargo xtask faults --write` and reviewed; CI fails for any other.\n\
         # Cases that are not required differ, since the standard does not decide them:\n{}\n\
         # No case of any level differs; a version by the text of another stands here where both say the same:\n{}\n",
        lines(true),
        lines(false)
    )
}
