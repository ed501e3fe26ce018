//! Whether the suite notices wrong kernels.

use std::process::ExitCode;

use onnx_conformance_faults::{Class, Verdict, all, measure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The operators; all of them unless some are named
    operators: Vec<String>,

    /// Print each fault with the case that notices it, too
    #[arg(long)]
    all: bool,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let is_chosen = |name: &String| arguments.operators.is_empty() || arguments.operators.contains(name);
    let verdicts = measure(all().into_iter().filter(|fault| is_chosen(&fault.operator)).collect())?;
    anyhow::ensure!(!verdicts.is_empty(), "there is no fault of {}", arguments.operators.join(", "));
    // The text of another version changes nothing where both say the same of every case.
    let is_fault = |verdict: &Verdict| {
        verdict.fault.class != Class::Version || verdict.noticed.is_some() || verdict.otherwise.is_some()
    };
    let verdicts: Vec<Verdict> = verdicts.into_iter().filter(is_fault).collect();
    let (mut unnoticed, mut stale) = (0, 0);
    for verdict in &verdicts {
        let Verdict { fault, noticed, otherwise, cases } = verdict;
        match (noticed, fault.undecided) {
            (Some((case, message)), None) if arguments.all => {
                anstream::println!("{fault}\n  noticed by {case}: {message}");
            }
            (Some((case, _)), Some(reason)) => {
                anstream::println!("{fault}\n  is noticed by {case}, though it is listed as undecided: {reason}");
                stale += 1;
            }
            (None, Some(reason)) if arguments.all => anstream::println!("{fault}\n  undecided: {reason}"),
            (None, None) => match otherwise {
                Some(case) if arguments.all => {
                    anstream::println!("{fault}\n  not decided: {case} differs, which is not required");
                }
                Some(_) => {}
                None => {
                    anstream::println!("{fault}\n  not noticed by any of {cases} required cases");
                    unnoticed += 1;
                }
            },
            _ => {}
        }
    }
    anstream::println!("{:<10} {:>7} {:>9} {:>7} {:>10}", "class", "faults", "noticed", "share", "undecided");
    for class in Class::ALL {
        let of_class: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.fault.class == class).collect();
        let decided =
            of_class.iter().filter(|verdict| verdict.fault.undecided.is_none() && verdict.otherwise.is_none());
        let (total, noticed) = (decided.clone().count(), decided.filter(|verdict| verdict.noticed.is_some()).count());
        let share = if total == 0 { 100.0 } else { 100.0 * noticed as f64 / total as f64 };
        anstream::println!("{class:<10} {total:>7} {noticed:>9} {share:>6.1}% {:>10}", of_class.len() - total);
    }
    Ok(if unnoticed + stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
