//! Signals while a command is running.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use onnx_conformance::reference::proto::Message as _;
use onnx_conformance_harness::interrupt::is_ignored;
use rustix::process::{Pid, Signal, kill_process};

use crate::models::{Folder, identity, raw, with_initializer};
use crate::program::{call, command};

/// Waits until a condition holds or the program ends.
fn wait_for(child: &mut Child, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !is_so() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "nothing happens");
        std::thread::yield_now();
    }
}

fn start(arguments: &[&str]) -> Child {
    command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_signal_leaves_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = Folder::new();
    let model = folder.write("m.onnx", with_initializer(raw(&[5_000_000], 20_000_000)).encode_to_vec());
    let out = folder.file("o.onnx");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let is_writing = || names().iter().any(|name| name.starts_with(".o.onnx."));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(|signal| !is_ignored(signal.as_raw())) {
        // The program may be faster than the signal.
        let was_ended = (0..20).any(|_| {
            let mut child = start(&["convert", &model, "--opset", "14", "--verify", "0", "-o", &out, "--force"]);
            wait_for(&mut child, is_writing);
            if child.try_wait().unwrap().is_none() {
                kill_process(Pid::from_child(&child), signal).unwrap();
            }
            let status = child.wait().unwrap();
            assert!(!is_writing(), "{signal:?}: {:?}", names());
            status.signal() == Some(signal.as_raw())
        });
        assert!(was_ended, "{signal:?} ended no conversion");
    }
}

#[test]
fn a_check_of_a_folder_ends_with_the_first_signal_and_tells_what_is_done() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("models")).unwrap();
    for number in 0..2_000 {
        folder.write(&format!("models/{number}.onnx"), identity().encode_to_vec());
    }
    let (models, nodes) = (folder.file("models"), folder.file("nodes"));
    let mut child = start(&["check", &models, "--format", "table", "--save-node", &nodes, "--node", "all"]);
    // Interrupted models are not reported.
    wait_for(&mut child, || fs::read_dir(&nodes).is_ok_and(|files| files.count() > 20));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(130), "{err}");
    let done = out.lines().count();
    assert!((1..2_000).contains(&done), "{done}");
    assert!(err.contains(&format!("stopped after {done} of 2000 models")), "{err}");
}

#[test]
fn a_name_of_250_characters_is_written() {
    let folder = Folder::new();
    let model = folder.write("m.onnx", identity().encode_to_vec());
    let out = folder.file(&format!("{}.onnx", "o".repeat(245)));
    call(&["convert", &model, "--opset", "14", "-o", &out]).expect(0, "wrote ");
    assert!(fs::metadata(out).unwrap().len() > 0);
}
