//! Correct adapters, and adapters that cannot be started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use onnx_conformance_harness::run::Outcome::{Pass, Unsupported};

use crate::linux::Tests;
use crate::linux::program::{Scene, smoke};

pub(crate) const TESTS: Tests = &[
    ("a_right_adapter_passes", a_right_adapter_passes),
    ("two_workers_give_what_one_gives", two_workers_give_what_one_gives),
    ("the_template_has_nothing", the_template_has_nothing),
    ("smoke_says_what_an_adapter_does_wrong", smoke_says_what_an_adapter_does_wrong),
    ("a_missing_program_is_named", a_missing_program_is_named),
    ("a_program_that_is_not_executable_is_named", a_program_that_is_not_executable_is_named),
];

fn a_right_adapter_passes() {
    Scene::new(3).with(&["--validate"]).run("none").expect(0, &[(Pass, ""); 3]);
}

fn two_workers_give_what_one_gives() {
    Scene::new(20).with(&["-j", "2"]).run("none").expect(0, &[(Pass, ""); 20]);
}

fn the_template_has_nothing() {
    let missing = (Unsupported, "this template runs nothing yet");
    Scene::new(2).with(&["--validate"]).run("template").expect(1, &[missing; 2]);
}

fn smoke_says_what_an_adapter_does_wrong() {
    let check = |fault: &str, text: &str| {
        let (code, out) = smoke(fault);
        assert!(code == Some(1) && out.contains(text), "no '{text}' in {code:?} {out}");
    };
    check(
        "none",
        "WRONG        an operator that no runtime has: the answer claims that an operator ran which no runtime has",
    );
    check("always-dies", "WRONG        a float tensor: the process did not survive: the process ended (signal: 6");
    check(
        "output-type",
        "WRONG        a float tensor: the output differs from the input: expected tensor(float), got tensor(int32)",
    );
    check(
        "template",
        "WRONG        a float tensor: every runtime can do this, but the answer is: this template runs nothing yet",
    );
}

fn a_missing_program_is_named() {
    Scene::new(1).run_command("no-such-program").refuses(4, "cannot start no-such-program: No such file");
}

fn a_program_that_is_not_executable_is_named() {
    let scene = Scene::new(1);
    let program = scene.path("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    scene.run_command(&program.display().to_string()).refuses(4, "Permission denied");
}
