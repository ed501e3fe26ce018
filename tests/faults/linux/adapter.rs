//! An adapter that copies its input to its output, with one fault.

use std::fs;
use std::io::{BufRead, Write, stderr, stdin, stdout};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio, abort};
use std::thread::sleep;
use std::time::Duration;

use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::{Message as _, TensorProto};
use serde_json::{Value, json};

use crate::linux::litter;

const LONG: Duration = Duration::from_mins(5);

pub(crate) fn main(fault: &str, rest: &[&str]) -> ExitCode {
    match (fault, rest) {
        ("exits-at-start", _) => {
            let _ = writeln!(stderr(), "some library is missing");
            return ExitCode::from(3);
        }
        ("sleep", _) => sleep(LONG),
        ("sleep-in-a-session-of-its-own", _) => {
            let _ = rustix::process::setsid();
            sleep(LONG);
        }
        ("leave-a-daemon", [note]) => {
            let mut daemon = this(&["sleep-in-a-session-of-its-own"]);
            #[expect(clippy::zombie_processes, reason = "whether somebody else ends it is what is tested")]
            let daemon = daemon.env_clear().spawn().unwrap();
            fs::write(note, daemon.id().to_string()).unwrap();
        }
        ("leave-an-orphan", [note]) => leave(&["sleep-in-a-session-of-its-own"], note),
        _ => serve(fault, rest),
    }
    ExitCode::SUCCESS
}

fn serve(fault: &str, rest: &[&str]) {
    let mut count = 0;
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match request["cmd"].as_str() {
            Some("start") => start(fault, rest),
            Some("run") => {
                count += 1;
                run(fault, rest, &request, count);
            }
            _ => break,
        }
    }
    match fault {
        "never-ends" => sleep(LONG),
        "answers-stop" => say("{}\n"),
        _ => {}
    }
}

fn start(fault: &str, rest: &[&str]) {
    match (fault, rest) {
        ("never-starts", note) => {
            if let [note] = note {
                fs::write(note, std::process::id().to_string()).unwrap();
            }
            sleep(LONG);
        }
        ("dies-at-second-start", [note]) if Path::new(note).exists() => abort(),
        ("dies-at-second-start", [note]) => fs::write(note, "").unwrap(),
        _ => {}
    }
    let (name, version) = match (fault, rest) {
        ("called", &[name, version]) => (name, version),
        _ => ("faulty", "1"),
    };
    say(&format!("{}\n", json!({"runtime": {"name": name, "version": version}})));
}

#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn run(fault: &str, rest: &[&str], request: &Value, count: u32) {
    let seq = &request["seq"];
    let path = request["outputs"][0]["path"].as_str().unwrap_or_default();
    let ok = format!("{{\"seq\":{seq},\"ok\":true}}\n");
    if fault == "off" {
        write_off(rest, path);
        return say(&ok);
    }
    if is_of_output(fault) {
        write_output(fault, request, path);
        return say(&ok);
    }
    copy(request, path);
    if let Some(kind) = fault.strip_prefix("litter-") {
        litter::leave(kind, Path::new(path));
        return say(&ok);
    }
    match fault {
        "never-answers" if count == 2 => sleep(LONG),
        "half-a-line" if count == 2 => {
            say("{\"seq\":");
            sleep(LONG);
        }
        "half-a-line-and-exit" => {
            say("{\"seq\":");
            std::process::exit(0);
        }
        "closes-its-output" => {
            let mut shell = Command::new("sh");
            panic!("{}", shell.args(["-c", "exec > /dev/null; exec sleep 300"]).exec());
        }
        "garbage" => say("Warning: 1 thread\n"),
        "bytes" => {
            let _ = stdout().write_all(&[0xff, 0x00, b'\n']);
            let _ = stdout().flush();
        }
        "endless-line" => while stdout().write_all(&[b'x'; 4096]).is_ok() {},
        "answers-ahead" | "answers-ahead-later" => {
            if count > 1 {
                return;
            }
            let next = format!("{{\"seq\":{},\"ok\":true}}\n", seq.as_u64().unwrap() + 1);
            if fault == "answers-ahead" {
                return say(&(ok + &next));
            }
            say(&ok);
            say(&next);
        }
        "wrong-seq" => say(&format!("{{\"seq\":{},\"ok\":true}}\n", seq.as_u64().unwrap() + 1)),
        "twice-at-once" => say(&ok.repeat(2)),
        "twice" => {
            say(&ok);
            sleep(Duration::from_millis(30));
            say(&ok);
        }
        "unknown-key" => say(&format!("{{\"seq\":{seq},\"ok\":true,\"time\":1}}\n")),
        "flood" => flood(seq),
        "dies-every-third-time" if count.is_multiple_of(3) => abort(),
        "always-dies" | "dies-at-second-start" => {
            let _ = writeln!(stderr(), "first\n\n  last words at 0x7f0011223344  ");
            abort();
        }
        "allocates" => allocate(),
        "leaves-a-child" | "leaves-a-child-and-hangs" => {
            leave(&["sleep"], rest[0]);
            if fault.ends_with("hangs") {
                sleep(LONG);
            }
            say(&ok);
        }
        "leaves-a-session" | "leaves-a-session-and-dies" => {
            leave(&["sleep-in-a-session-of-its-own"], rest[0]);
            if fault.ends_with("dies") {
                abort();
            }
            say(&ok);
        }
        "leaves-a-daemon" => {
            let mut child = this(&["leave-a-daemon", rest[0]]);
            child.spawn().unwrap().wait().unwrap();
            say(&ok);
        }
        "corrupts-the-next" if count == 2 => abort(),
        "always-fails" => {
            say(&format!("{}\n", json!({"seq": seq, "error": {"phase": "run", "message": "always"}})));
        }
        "spoils-the-next" if count == 2 => {
            say(&format!("{}\n", json!({"seq": seq, "error": {"phase": "run", "message": "spoilt"}})));
        }
        "garbles-the-next" if count == 2 => say("Warning: 1 thread\n"),
        "panics" => panic!("index 3 is out of bounds"),
        "leaves-an-orphan" => {
            let mut child = this(&["leave-an-orphan", rest[0]]);
            child.spawn().unwrap().wait().unwrap();
            say(&ok);
        }
        "slow" => {
            fs::write(rest[0], std::process::id().to_string()).unwrap();
            sleep(Duration::from_millis(100));
            say(&ok);
        }
        "says" => say(&format!("{}\n", rest[0].replace("SEQ", &seq.to_string()))),
        "long-message" => {
            let message = "m".repeat(1_000_000);
            say(&format!("{}\n", json!({"seq": seq, "error": {"phase": "run", "message": message}})));
        }
        "empty-message" => {
            say(&format!("{}\n", json!({"seq": seq, "error": {"phase": "run", "message": ""}})));
        }
        _ => say(&ok),
    }
}

/// Writes text to standard output and flushes it.
fn say(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn input(request: &Value) -> TensorProto {
    let bytes = fs::read(request["inputs"][0]["path"].as_str().unwrap()).unwrap();
    TensorProto { name: None, ..TensorProto::decode(bytes.as_slice()).unwrap() }
}

fn copy(request: &Value, path: &str) {
    fs::write(path, input(request).encode_to_vec()).unwrap();
}

fn is_of_output(fault: &str) -> bool {
    fault.starts_with("output-")
}

fn write_output(fault: &str, request: &Value, path: &str) {
    let mut tensor = input(request);
    match fault {
        "output-missing" => return,
        "output-folder" => return fs::create_dir(path).unwrap(),
        "output-fifo" => {
            Command::new("mkfifo").arg(path).status().unwrap();
            return;
        }
        "output-link" => return std::os::unix::fs::symlink("../input_0.pb", path).unwrap(),
        "output-socket" => {
            // Paths of sockets are limited to few characters.
            std::env::set_current_dir(Path::new(path).parent().unwrap()).unwrap();
            std::os::unix::net::UnixListener::bind("output_0.pb").unwrap();
            return std::env::set_current_dir("/").unwrap();
        }
        "output-strange-name" => {
            let name = std::ffi::OsStr::from_bytes(b"\xff\x1b");
            fs::write(Path::new(path).with_file_name(name), "").unwrap();
        }
        "output-garbage" => return fs::write(path, [0xff; 9]).unwrap(),
        "output-too-many" => fs::write(path.replace("output_0", "output_1"), "").unwrap(),
        "output-name" => tensor.name = Some("z".to_owned()),
        // Small by dims and type, and entirely sparse.
        "output-huge" => {
            return fs::File::create(path).and_then(|file| file.set_len((1 << 31) - 1)).unwrap();
        }
        "output-type" => tensor.data_type = Some(ElementType::Int32.code()),
        "output-shape" => tensor.dims = vec![3, 1],
        _ => {}
    }
    fs::write(path, tensor.encode_to_vec()).unwrap();
}

/// Writes 200 MB to standard error, and answers with the number of bytes by which the harness grew.
fn flood(seq: &Value) {
    let before = resident_of_parent();
    let block = [b'e'; 1 << 13];
    for _ in 0..25_600 {
        stderr().write_all(&block).unwrap();
    }
    let grown = resident_of_parent().saturating_sub(before);
    say(&format!("{}\n", json!({"seq": seq, "error": {"phase": "run", "message": format!("{grown} kB")}})));
}

/// Writes the floats of a file, the last of them off by `distance` representable values, away from zero.
fn write_off(rest: &[&str], path: &str) {
    let [file, distance] = rest else { panic!("a file and a distance, not {rest:?}") };
    let tensor = TensorProto::decode(fs::read(file).unwrap().as_slice()).unwrap();
    let mut bytes = tensor.raw_data.clone().unwrap().to_vec();
    let (last, distance): (usize, u32) = (bytes.len() - 4, distance.parse().unwrap());
    let bits = u32::from_le_bytes(bytes[last..].try_into().unwrap()) + distance;
    bytes[last..].copy_from_slice(&bits.to_le_bytes());
    fs::write(path, TensorProto { name: None, raw_data: Some(bytes.into()), ..tensor }.encode_to_vec()).unwrap();
}

fn resident_of_parent() -> u64 {
    let parent = rustix::process::getppid().unwrap().as_raw_pid();
    let text = fs::read_to_string(format!("/proc/{parent}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Allocates at the speed that is monitored, up to a size that every machine has.
fn allocate() {
    let mut taken = Vec::new();
    for _ in 0..150 {
        taken.push(vec![1_u8; 10_000_000]);
        sleep(Duration::from_millis(5));
    }
    sleep(LONG);
    drop(taken);
}

/// Starts this program with inherited pipes, and writes its process id to a file.
fn leave(arguments: &[&str], note: &str) {
    #[expect(clippy::zombie_processes, reason = "whether somebody else ends it is what is tested")]
    let child = this(arguments).spawn().unwrap();
    fs::write(note, child.id().to_string()).unwrap();
}

fn this(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("adapter").args(arguments).stdin(Stdio::null());
    command
}
