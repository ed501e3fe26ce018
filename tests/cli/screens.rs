//! Output on a terminal fits its screen; a pipe gets everything.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{call, command};

/// Size of the terminal.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// Returns the standard output of a call on a terminal.
fn on_terminal(arguments: &[&str]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    tcsetwinsize(&terminal, SIZE).unwrap();
    let screen = open(ptsname(&terminal, Vec::new()).unwrap(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut called = command(arguments);
    let mut child = called.stdin(Stdio::null()).stdout(Stdio::from(screen)).stderr(Stdio::null()).spawn().unwrap();
    // The screen is closed when the child ends, and reading then fails.
    drop(called);
    let mut text = Vec::new();
    let _ = File::from(terminal).read_to_end(&mut text);
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

fn rows(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(usize::from(SIZE.ws_col)).max(1)).sum()
}

#[test]
fn a_terminal_gets_one_screen_and_a_pipe_everything() {
    for arguments in [&["show", "Sum@13"][..], &["diff", "--opset", "12", "13"], &["diff", "Resize", "10", "19"]] {
        let piped = call(arguments).expect(0, "").out;
        assert!(rows(&piped) > usize::from(SIZE.ws_row), "{arguments:?} is short");
        let arguments = [arguments, &["--color", "never"]].concat();
        let shown = on_terminal(&arguments);
        assert!(rows(&shown) < usize::from(SIZE.ws_row), "{arguments:?}\n{shown}");
        assert!(shown.ends_with(" lines are omitted to fit the screen; --all prints everything\n"), "{shown}");
        assert_eq!(shown.lines().next(), piped.lines().next(), "{arguments:?}");
        assert_eq!(on_terminal(&[&arguments[..], &["--all"]].concat()).trim_end(), piped.trim_end(), "{arguments:?}");
    }
}

#[test]
fn lists_and_json_are_never_shortened() {
    for arguments in [&["list", "ai.onnx/Sum-13"][..], &["diff", "Resize", "10", "19", "--format", "json"]] {
        let piped = call(arguments).expect(0, "").out;
        assert!(rows(&piped) > usize::from(SIZE.ws_row), "{arguments:?} is short");
        assert_eq!(on_terminal(arguments), piped, "{arguments:?}");
    }
}
