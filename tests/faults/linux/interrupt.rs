//! Ctrl-C during a run.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use onnx_conformance_harness::run::Outcome::Pass;
use rustix::process::{Pid, Signal, kill_process};

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter, is_alive};

pub(crate) const TESTS: Tests = &[
    ("an_interrupt_keeps_what_is_done_and_ends_the_adapter", an_interrupt_keeps_what_is_done_and_ends_the_adapter),
    ("an_interrupt_ends_a_start", an_interrupt_ends_a_start),
];

fn an_interrupt_keeps_what_is_done_and_ends_the_adapter() {
    let scene = Scene::new(200);
    let child = scene.start(&adapter(&format!("slow '{}'", scene.note())));
    let until = Instant::now() + Duration::from_secs(30);
    while scene.results().len() < 3 && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = scene.wait(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("stopped; finished results are kept"), "{ran:?}");
    assert!((3..200).contains(&ran.results.len()), "{ran:?}");
    assert!(ran.results.iter().all(|result| result.outcome == Pass), "{ran:?}");
    assert!(fs::read_to_string(scene.path("results.jsonl")).unwrap().ends_with("}\n"));
    assert!(!is_alive(scene.noted().unwrap()), "{ran:?}");
}

fn an_interrupt_ends_a_start() {
    let scene = Scene::new(1);
    let child = scene.start(&adapter(&format!("never-starts '{}'", scene.note())));
    let until = Instant::now() + Duration::from_secs(30);
    while scene.noted().is_none() && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = scene.wait(child);
    ran.refuses(130, "stopped");
    assert!(!ran.err.contains("kept"), "there is no result: {ran:?}");
    assert!(!is_alive(scene.noted().unwrap()));
}
