//! Adapters that do not answer.

use onnx_conformance_harness::run::Outcome::{Crash, Pass, Timeout};

use crate::linux::Tests;
use crate::linux::program::Scene;

pub(crate) const TESTS: Tests = &[
    ("one_that_never_starts_is_given_up", one_that_never_starts_is_given_up),
    ("one_that_exits_at_start_is_quoted", one_that_exits_at_start_is_quoted),
    ("one_that_never_answers_times_out_and_the_rest_goes_on", one_that_never_answers_times_out_and_the_rest_goes_on),
    ("half_a_line_times_out", half_a_line_times_out),
    ("half_a_line_and_an_exit_is_a_crash", half_a_line_and_an_exit_is_a_crash),
    ("closing_the_output_is_a_crash", closing_the_output_is_a_crash),
    ("one_that_never_ends_is_killed", one_that_never_ends_is_killed),
];

fn one_that_never_starts_is_given_up() {
    Scene::new(1).with(&["--timeout", "0.5"]).run("never-starts").refuses(4, "no answer within 0.5 s");
}

fn one_that_exits_at_start_is_quoted() {
    let ran = Scene::new(1).run("exits-at-start");
    ran.refuses(4, "the process ended (exit status: 3) [stderr: some library is missing]");
}

fn one_that_never_answers_times_out_and_the_rest_goes_on() {
    let ran = Scene::new(3).with(&["--timeout", "2"]).run("never-answers");
    ran.expect(1, &[(Pass, ""), (Timeout, "no answer within 2 s"), (Pass, "")]);
}

fn half_a_line_times_out() {
    let ran = Scene::new(3).with(&["--timeout", "2"]).run("half-a-line");
    ran.expect(1, &[(Pass, ""), (Timeout, "received 7 bytes of an incomplete line"), (Pass, "")]);
}

fn half_a_line_and_an_exit_is_a_crash() {
    let message = "the process ended (exit status: 0) after 7 bytes of a line";
    Scene::new(2).run("half-a-line-and-exit").expect(1, &[(Crash, message); 2]);
}

fn closing_the_output_is_a_crash() {
    Scene::new(1).run("closes-its-output").expect(1, &[(Crash, "the process closed its standard output")]);
}

fn one_that_never_ends_is_killed() {
    let ran = Scene::new(1).with(&["--timeout", "2"]).run("never-ends");
    ran.expect(0, &[(Pass, "")]);
    let ran = Scene::new(1).with(&["--timeout", "2", "--validate"]).run("never-ends");
    ran.expect(1, &[(Pass, "")]);
    assert!(ran.err.contains("when it was stopped: no answer within 2 s"), "{ran:?}");
}
