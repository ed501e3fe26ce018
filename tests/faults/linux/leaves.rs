//! Adapters that leave processes behind.

use onnx_conformance_harness::run::Outcome::{self, Crash, Pass, Timeout};

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter, is_alive};

pub(crate) const TESTS: Tests = &[
    ("a_child_ends_with_its_parent", a_child_ends_with_its_parent),
    ("a_child_is_killed_at_the_timeout", a_child_is_killed_at_the_timeout),
    ("a_child_that_left_the_group_ends", a_child_that_left_the_group_ends),
    ("a_child_whose_parents_are_gone_ends", a_child_whose_parents_are_gone_ends),
    ("a_daemon_without_an_environment_ends", a_daemon_without_an_environment_ends),
];

fn check(fault: &str, timeout: &str, code: i32, outcome: Outcome) {
    let scene = Scene::new(1).with(&["--timeout", timeout]);
    let ran = scene.run_command(&adapter(&format!("{fault} '{}'", scene.note())));
    ran.expect(code, &[(outcome, "")]);
    assert!(!is_alive(scene.noted().unwrap()), "{ran:?}");
}

fn a_child_ends_with_its_parent() {
    check("leaves-a-child", "2", 0, Pass);
}

fn a_child_is_killed_at_the_timeout() {
    check("leaves-a-child-and-hangs", "2", 1, Timeout);
}

fn a_child_that_left_the_group_ends() {
    check("leaves-a-session", "2", 0, Pass);
    check("leaves-a-session-and-dies", "20", 1, Crash);
}

fn a_child_whose_parents_are_gone_ends() {
    check("leaves-an-orphan", "2", 0, Pass);
}

fn a_daemon_without_an_environment_ends() {
    check("leaves-a-daemon", "2", 0, Pass);
}
