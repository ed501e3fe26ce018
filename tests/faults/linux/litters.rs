//! Adapters that leave files in the folders of requests.

use std::thread::sleep;
use std::time::{Duration, Instant};

use onnx_conformance_harness::run::Outcome::{self, OutOfMemory, Pass, ProtocolError};

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter};

pub(crate) const TESTS: Tests = &[
    ("folders_in_folders_without_end_are_removed", folders_in_folders_without_end_are_removed),
    ("many_files_are_a_protocol_error", many_files_are_a_protocol_error),
    ("files_count_for_the_memory", files_count_for_the_memory),
    ("holes_in_files_are_no_memory", holes_in_files_are_no_memory),
    ("a_folder_of_the_run_that_is_gone_is_made_again", a_folder_of_the_run_that_is_gone_is_made_again),
    ("folders_of_the_next_requests_cannot_be_taken", folders_of_the_next_requests_cannot_be_taken),
    ("closed_folders_are_removed", closed_folders_are_removed),
    ("files_that_may_not_be_changed_are_removed", files_that_may_not_be_changed_are_removed),
    ("what_a_killed_run_has_left_is_removed_by_the_next", what_a_killed_run_has_left_is_removed_by_the_next),
];

/// Checks that both cases have this outcome, and that no file is left.
fn check(scene: &Scene, kind: &str, code: i32, outcome: Outcome, message: &str) {
    scene.run(&format!("litter-{kind}")).expect(code, &[(outcome, message); 2]);
    assert_eq!(scene.temporaries(), [""; 0]);
}

fn scene() -> Scene {
    Scene::new(2).with_temporary()
}

fn folders_in_folders_without_end_are_removed() {
    check(&scene(), "deep", 1, ProtocolError, "folders in the folder of the request are nested more than 64 deep");
}

fn many_files_are_a_protocol_error() {
    check(&scene(), "many", 1, ProtocolError, "the folder of the request has more than ");
}

fn files_count_for_the_memory() {
    let message = "more than 100 MB of memory were used, ";
    for kind in ["large", "large-beside", "large-and-slowly"] {
        check(&scene().with(&["--memory", "100"]), kind, 1, OutOfMemory, message);
    }
    check(&scene().with(&["--memory", "0"]), "large", 0, Pass, "");
}

fn holes_in_files_are_no_memory() {
    check(&scene().with(&["--memory", "100"]), "holes", 0, Pass, "");
}

fn a_folder_of_the_run_that_is_gone_is_made_again() {
    check(&scene(), "nothing", 1, ProtocolError, "output 'y' (output_0.pb) was not written");
}

fn folders_of_the_next_requests_cannot_be_taken() {
    check(&scene(), "the-next", 0, Pass, "");
}

fn closed_folders_are_removed() {
    check(&scene().of_plain_user(), "closed", 1, ProtocolError, "Permission denied");
}

fn files_that_may_not_be_changed_are_removed() {
    check(&scene(), "fixed", 0, Pass, "");
}

fn what_a_killed_run_has_left_is_removed_by_the_next() {
    let scene = Scene::new(200).with_temporary();
    let slow = || scene.start(&adapter(&format!("slow '{}'", scene.note())));
    let (mut first, until) = (slow(), Instant::now() + Duration::from_secs(30));
    while scene.results().is_empty() && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    let of_first = scene.temporaries();
    assert_eq!(of_first.len(), 1);
    // A running run keeps its folder, whatever other runs do.
    let other = Scene::new(1).with_temporary_of(&scene);
    other.run("none").expect(0, &[(Pass, "")]);
    assert_eq!(scene.temporaries(), of_first);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(scene.temporaries(), of_first);
    other.run("none").expect(0, &[(Pass, "")]);
    assert_eq!(scene.temporaries(), [""; 0]);
}
