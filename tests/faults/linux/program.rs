//! Runs the program on a suite with a faulty adapter.

use std::fs;
use std::io::BufReader;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::{
    GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode, texts,
};
use onnx_conformance::reference::tensor::Tensor;
use onnx_conformance::reference::types::ValueType;
use onnx_conformance::reference::value::Value;
use onnx_conformance_harness::run::{CaseResult, Outcome, read_results};
use tempfile::TempDir;

/// Time limit of a run, much longer than any run needs.
const LONGEST: Duration = Duration::from_mins(1);

/// User and group id with the fewest rights.
const NOBODY: u32 = 65_534;

/// Minimum limit of open files for the program and its tests.
const FEW_FILES: &str = "ulimit -n 64; exec \"$@\"";

/// A suite of equal cases, and the files of a run.
pub(crate) struct Scene {
    home: TempDir,
    more: Vec<String>,
    /// Folder of temporary files, if it is the scene's own. It is in memory, since disks are slow with many files.
    temporary: Option<Arc<TempDir>>,
    is_plain_user: bool,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
    pub(crate) results: Vec<CaseResult>,
}

impl Scene {
    /// Creates a suite of `cases` cases.
    pub(crate) fn new(cases: usize) -> Scene {
        let scene = Scene { home: TempDir::new().unwrap(), more: Vec::new(), temporary: None, is_plain_user: false };
        for case in 0..cases {
            let set = scene.path(&format!("suite/case_{case}/test_data_set_0"));
            fs::create_dir_all(&set).unwrap();
            fs::write(set.parent().unwrap().join("model.onnx"), identity().encode_to_vec()).unwrap();
            fs::write(set.join("input_0.pb"), encode::value(&three(), "x")).unwrap();
            fs::write(set.join("output_0.pb"), encode::value(&three(), "y")).unwrap();
        }
        scene
    }

    /// Adds options to the command line.
    pub(crate) fn with(mut self, options: &[&str]) -> Scene {
        self.more.extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// Compares the runtime with a file that lists no failures.
    pub(crate) fn with_expectations(self) -> Scene {
        let file = self.path("expectations.yaml");
        fs::write(&file, "runtime: faulty\nexpect: []\n").unwrap();
        self.with(&["--expectations", &file.display().to_string()])
    }

    /// Puts temporary files into a folder of the scene.
    pub(crate) fn with_temporary(mut self) -> Scene {
        self.temporary = Some(Arc::new(TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()));
        self
    }

    /// Puts temporary files into the folder of another scene.
    pub(crate) fn with_temporary_of(mut self, other: &Scene) -> Scene {
        self.temporary.clone_from(&other.temporary);
        self
    }

    /// Runs as an unprivileged user, whoever runs the tests.
    pub(crate) fn of_plain_user(mut self) -> Scene {
        self.is_plain_user = rustix::process::geteuid().is_root();
        if self.is_plain_user {
            let home = self.home.path();
            for folder in self.temporary.iter().map(|folder| folder.path()).chain([home]) {
                std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        self
    }

    /// Returns the names in the scene's folder of temporary files.
    pub(crate) fn temporaries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temporary.as_ref().unwrap().path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Returns a file that the adapter may write to, as an argument.
    pub(crate) fn note(&self) -> String {
        self.path("note").display().to_string()
    }

    /// Returns the process id that the adapter has written.
    pub(crate) fn noted(&self) -> Option<i32> {
        fs::read_to_string(self.path("note")).ok()?.parse().ok()
    }

    /// Runs the suite with this program as an adapter with a fault.
    pub(crate) fn run(&self, fault: &str) -> Ran {
        self.wait(self.start(&adapter(fault)))
    }

    /// Runs the suite with any adapter.
    pub(crate) fn run_command(&self, runtime: &str) -> Ran {
        self.wait(self.start(runtime))
    }

    pub(crate) fn start(&self, runtime: &str) -> Child {
        let mut command = if self.temporary.is_some() {
            let mut command = Command::new("sh");
            command.args(["-c", FEW_FILES, "sh", env!("CARGO_BIN_EXE_onnx-conformance")]);
            command
        } else {
            Command::new(env!("CARGO_BIN_EXE_onnx-conformance"))
        };
        command.envs(self.temporary.iter().map(|folder| ("TMPDIR", folder.path())));
        if self.is_plain_user {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.arg("run").arg("--suite").arg(self.path("suite")).arg("--results").arg(self.path("results.jsonl"));
        command.arg("--failures").arg(self.path("failures")).args(["--runtime", runtime]).args(&self.more);
        for (option, value) in [("-j", "1"), ("--timeout", "20")] {
            if !self.more.iter().any(|given| given == option) {
                command.args([option, value]);
            }
        }
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        command.stdout(Stdio::null());
        command.stderr(fs::File::create(self.path("err")).unwrap());
        command.spawn().unwrap()
    }

    /// Calls `run --init` in a folder, and returns its exit code and output.
    pub(crate) fn init(&self, folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
        command.args(["run", "--init", "--suite"]).arg(self.path("suite")).args(arguments).current_dir(folder);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    /// Waits for the end of a run, within the time limit.
    pub(crate) fn wait(&self, mut child: Child) -> Ran {
        let until = Instant::now() + LONGEST;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("the run hangs: {}", self.text("err"));
            }
            sleep(Duration::from_millis(5));
        };
        let ran = Ran { code: status.code(), err: self.text("err"), results: self.results() };
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        ran
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the results written so far, in execution order.
    pub(crate) fn results(&self) -> Vec<CaseResult> {
        let Ok(file) = fs::File::open(self.path("results.jsonl")) else { return Vec::new() };
        read_results(&mut BufReader::new(file)).map_or_else(|_| Vec::new(), |read| read.results)
    }
}

impl Ran {
    /// Asserts the exit code, and the outcome of each case with a part of its message.
    pub(crate) fn expect(&self, code: i32, outcomes: &[(Outcome, &str)]) -> &Ran {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.results.len(), outcomes.len(), "{self:?}");
        for (result, (outcome, message)) in self.results.iter().zip(outcomes) {
            assert!(result.outcome == *outcome && result.message.contains(message), "{outcome} {message}: {self:?}");
        }
        self
    }

    /// Asserts that a run has no results, this exit code, and a text in its output.
    pub(crate) fn refuses(&self, code: i32, text: &str) {
        self.expect(code, &[]);
        assert!(self.err.contains(text), "no '{text}' in {self:?}");
    }
}

/// Returns the exit code and output of `run --smoke` with this program as an adapter with a fault.
pub(crate) fn smoke(fault: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
    let output = command.args(["run", "--smoke", "--timeout", "20", "--runtime", &adapter(fault)]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Returns the command line of this program as an adapter.
pub(crate) fn adapter(fault: &str) -> String {
    format!("'{}' adapter {fault}", std::env::current_exe().unwrap().display())
}

/// Returns true if a process exists and has not ended.
pub(crate) fn is_alive(pid: i32) -> bool {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

fn three() -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[3], &[1.0, 2.0, 3.0]).unwrap())
}

/// `y = x`, three floats.
fn identity() -> ModelProto {
    let info = |name: &str| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Float), Some(&[3]))),
        ..ValueInfoProto::default()
    };
    let node = NodeProto {
        op_type: Some("Identity".into()),
        input: texts(["x"]),
        output: texts(["y"]),
        ..NodeProto::default()
    };
    let graph =
        GraphProto { node: vec![node], input: vec![info("x")], output: vec![info("y")], ..GraphProto::default() };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(13) }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}
