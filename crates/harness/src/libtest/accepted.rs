//! The opsets and IR versions that the runtime of a test binary accepts.
//!
//! cargo-nextest starts a process for each test. The expectation file states what the runtime accepts, so only the test of that file
//! probes the runtime. Without such a file, the processes of a run share one probe.

use std::path::{Path, PathBuf};

use onnx_conformance_cases::case::read_text;
use onnx_conformance_subject::{Accepted, Host, probe_if_undeclared};
use serde::{Deserialize, Serialize};

use crate::gate_file::Gate;
use crate::whole_file::{lock_folder, write_whole};

/// Environment variable in which cargo-nextest names its run.
const RUN: &str = "NEXTEST_RUN_ID";

/// A probe that the processes of a run share.
#[derive(Debug, Serialize, Deserialize)]
struct Shared {
    /// The run.
    run: String,
    /// Result of the probe; `None` if there is none.
    accepted: Option<Accepted>,
}

/// Returns the files that the runtime accepts, unless it declares them itself. If the expectation file states them, only a test that
/// checks the statement probes the runtime. `runtime` is the name in the test binary.
pub(super) fn accepted(host: &dyn Host, gate: &Gate, is_compared: bool, runtime: Option<&str>) -> Option<Accepted> {
    match gate.stated() {
        Some(_) if is_compared => return probe_if_undeclared(host),
        Some(stated) => return Some(stated.clone()),
        None => {}
    }
    match std::env::var(RUN).ok().zip(shared_file(runtime)) {
        Some((run, path)) => probe_once(run, &path, || probe_if_undeclared(host)),
        None => probe_if_undeclared(host),
    }
}

/// Returns the file for the probe of a runtime, beside the test binary: the next run replaces it.
fn shared_file(runtime: Option<&str>) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let stem = program.file_stem()?.to_str()?;
    let name = runtime.map_or_else(String::new, |name| format!(".{name}"));
    Some(program.with_file_name(format!("{stem}{name}.accepted.json")))
}

/// Returns the result of the first probe of a run. Without a file that can be locked and written, each process probes.
fn probe_once(run: String, path: &Path, probe: impl FnOnce() -> Option<Accepted>) -> Option<Accepted> {
    let _lock = lock_folder(path);
    let shared = read_text(path).ok().and_then(|text| serde_json::from_str::<Shared>(&text).ok());
    if let Some(shared) = shared.filter(|shared| shared.run == run) {
        return shared.accepted;
    }
    let shared = Shared { run, accepted: probe() };
    if let Ok(text) = serde_json::to_string(&shared) {
        let _ = write_whole(path, text.as_bytes());
    }
    shared.accepted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use onnx_conformance_subject::Opsets;

    use super::*;

    #[test]
    fn a_run_probes_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("conformance.accepted.json");
        let opsets = BTreeMap::from([("ai.onnx".to_owned(), Opsets::Between(7, 13))]);
        let accepted = Some(Accepted { ir: Opsets::Between(3, 8), opsets });
        assert_eq!(probe_once("first".to_owned(), &path, || accepted.clone()), accepted);
        assert_eq!(probe_once("first".to_owned(), &path, || panic!("probed twice")), accepted);
        // The probe may come from another build.
        assert_eq!(probe_once("second".to_owned(), &path, || None), None);
        assert_eq!(probe_once("second".to_owned(), &path, || panic!("probed twice")), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(probe_once("second".to_owned(), &path, || accepted.clone()), accepted);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_no_error() {
        let path = Path::new("/no/such/folder/conformance.accepted.json");
        let mut probes = 0;
        for _ in 0..2 {
            let probe = || {
                probes += 1;
                None
            };
            assert_eq!(probe_once("run".to_owned(), path, probe), None);
        }
        assert_eq!(probes, 2);
    }
}
