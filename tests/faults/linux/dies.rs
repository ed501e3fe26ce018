//! Adapters that crash, or are killed.

use onnx_conformance_harness::run::Outcome::{Crash, Error, OutOfMemory, Pass, ProtocolError};

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter};

pub(crate) const TESTS: Tests = &[
    ("one_that_dies_every_third_time_is_flaky", one_that_dies_every_third_time_is_flaky),
    ("one_that_always_dies_is_a_crash_with_its_last_words", one_that_always_dies_is_a_crash_with_its_last_words),
    ("isolated_cases_do_not_meet", isolated_cases_do_not_meet),
    ("what_is_not_expected_is_run_again_alone", what_is_not_expected_is_run_again_alone),
    ("a_line_that_is_no_answer_is_run_again_alone", a_line_that_is_no_answer_is_run_again_alone),
    ("a_panic_is_in_the_message", a_panic_is_in_the_message),
    ("many_deaths_in_a_row_end_the_run", many_deaths_in_a_row_end_the_run),
    ("one_that_cannot_start_again_ends_the_run", one_that_cannot_start_again_ends_the_run),
    ("one_that_takes_all_memory_is_killed", one_that_takes_all_memory_is_killed),
];

fn one_that_dies_every_third_time_is_flaky() {
    let ran = Scene::new(6).run("dies-every-third-time");
    ran.expect(0, &[(Pass, ""); 6]);
    // The fresh process first re-runs the case that died. So it dies again at the second case after that.
    let flaky: Vec<bool> = ran.results.iter().map(|result| result.flaky.is_some()).collect();
    assert_eq!(flaky, [false, false, true, false, true, false], "{ran:?}");
    assert!(ran.results[2].flaky.as_ref().unwrap().starts_with("the process ended (signal: 6"), "{ran:?}");
}

fn isolated_cases_do_not_meet() {
    let ran = Scene::new(3).with(&["--isolate"]).run("corrupts-the-next");
    ran.expect(0, &[(Pass, ""); 3]);
    assert!(ran.results.iter().all(|result| result.flaky.is_none()), "{ran:?}");
    let ran = Scene::new(3).run("corrupts-the-next");
    assert!(ran.results[1].flaky.is_some(), "{ran:?}");
}

fn what_is_not_expected_is_run_again_alone() {
    let ran = Scene::new(3).with_expectations().run("spoils-the-next");
    ran.expect(0, &[(Pass, ""); 3]);
    let first: Vec<Option<&str>> = ran.results.iter().map(|result| result.flaky.as_deref()).collect();
    // The process started for the second case runs the third as its second case.
    assert_eq!(first, [None, Some("error: spoilt"), Some("error: spoilt")], "{ran:?}");
    // Without a file nothing is re-run.
    let ran = Scene::new(3).run("spoils-the-next");
    assert!(ran.code == Some(1) && ran.results.iter().all(|result| result.flaky.is_none()), "{ran:?}");
    // If every case is isolated, nothing is re-run.
    let ran = Scene::new(2).run("always-fails");
    ran.expect(1, &[(Error, "always"); 2]);
    assert!(ran.results.iter().all(|result| result.flaky.is_none()), "{ran:?}");
}

fn a_line_that_is_no_answer_is_run_again_alone() {
    let ran = Scene::new(3).with_expectations().run("garbles-the-next");
    ran.expect(0, &[(Pass, ""); 3]);
    let first: Vec<&str> = ran.results.iter().filter_map(|result| result.flaky.as_deref()).collect();
    let is_named = |first: &&str| first.starts_with("protocol-error: ") && first.contains("Warning: 1 thread");
    assert!(first.len() == 2 && first.iter().all(is_named), "{ran:?}");
    // A process that always writes such a line is re-run once per case, and is not flaky.
    let ran = Scene::new(2).with_expectations().with(&["--restarts", "5"]).run("garbage");
    ran.expect(1, &[(ProtocolError, "the line is not JSON"); 2]);
    assert!(ran.results.iter().all(|result| result.flaky.is_none()), "{ran:?}");
    // Without a file nothing is re-run.
    let ran = Scene::new(3).with(&["--restarts", "2"]).run("garbles-the-next");
    ran.expect(1, &[(Pass, ""), (ProtocolError, "the line is not JSON"), (Pass, "")]);
}

fn a_panic_is_in_the_message() {
    let ran = Scene::new(1).run("panics");
    ran.expect(1, &[(Crash, "index 3 is out of bounds")]);
    let message = &ran.results[0].message;
    assert!(message.contains("panicked at tests/faults/linux/adapter.rs") && !message.contains("BACKTRACE"), "{ran:?}");
}

fn one_that_always_dies_is_a_crash_with_its_last_words() {
    let ran = Scene::new(2).run("always-dies");
    ran.expect(1, &[(Crash, "the process ended (signal: 6"); 2]);
    assert!(ran.results[0].message.ends_with("[stderr: first | last words at 0x?]"), "{ran:?}");
}

fn many_deaths_in_a_row_end_the_run() {
    let ran = Scene::new(9).with(&["--restarts", "5"]).run("always-dies");
    assert_eq!((ran.code, ran.results.len()), (Some(4), 2), "{ran:?}");
    assert!(ran.err.contains("5 processes in a row ended without an answer"), "{ran:?}");
}

fn one_that_cannot_start_again_ends_the_run() {
    let scene = Scene::new(3);
    let ran = scene.run_command(&adapter(&format!("dies-at-second-start {}", scene.note())));
    ran.refuses(4, "cannot restart ");
}

fn one_that_takes_all_memory_is_killed() {
    let ran = Scene::new(1).with(&["--memory", "300"]).run("allocates");
    ran.expect(1, &[(OutOfMemory, "more than 300 MB of memory were used")]);
}
