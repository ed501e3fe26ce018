//! Fuzz targets for text: the ONNX text syntax, YAML, results, and messages of adapters.

use bytes::Bytes;
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::generate::{OperatorCatalog, ids};
use onnx_conformance_harness::expectations::{ExpectationMatcher, Expectations, WholeRun, updated_expectations};
use onnx_conformance_harness::run::{read_results, write_header, write_result};
use onnx_conformance_reference::model::text::{parse_graph, parse_model, parse_nodes, parse_value_type};
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::Message;
use onnx_conformance_reference::proto::decode::{NoExternalData, value};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_subject::Declaration;
use onnx_conformance_subject::message::{Answer, Started, advice, read};

use crate::Bug;

/// Parses a model, a graph, nodes or a type in ONNX's text syntax.
pub(crate) fn syntax(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let parts = [parse_graph(&text).is_ok(), parse_nodes(&text).is_ok(), parse_value_type(&text).is_ok()];
    let Ok(model) = parse_model(&text) else { return parts.contains(&true) };
    let limits = LoadLimits { bytes: 16 << 20, ..LoadLimits::default() };
    read_model(model.encode_to_vec().into(), &NoExternalData, &limits).is_ok()
}

/// Reads a spec file, whose path below `specs/` is in a comment on the first line.
pub(crate) fn specs(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let path = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or("ai.onnx/Abs/op.yaml").to_owned();
    let (folder, file) = path.rsplit_once('/').unwrap_or(("ai.onnx/Abs", "op.yaml"));
    let (domain, name) = folder.split_once('/').unwrap_or(("ai.onnx", "Abs"));
    if file == "op.yaml" {
        let operators = OperatorCatalog::new("specs", [(path.clone(), text.into_owned())]);
        let versions = Specs::embedded().versions(domain, name);
        let planned = versions.map(|since| {
            let version = OperatorVersion { domain: domain.to_owned(), name: name.to_owned(), since };
            ids(&operators, &version).is_ok()
        });
        // Plans every version, even if another one fails.
        return !planned.collect::<Vec<bool>>().contains(&false);
    }
    let opset: i64 = file.trim_end_matches(".yaml").parse().unwrap_or(1);
    let specs = Specs::new("specs", [(path.clone().into(), text.into_owned().into())]);
    specs.is_ok_and(|specs| specs.find(domain, name, opset).is_ok())
}

/// Reads an expectation file and updates it with an empty run.
pub(crate) fn expectations(input: &[u8]) -> Result<bool, Bug> {
    let text = String::from_utf8_lossy(input);
    let Ok(expectations) = Expectations::parse("fuzz.yaml", &text) else { return Ok(false) };
    let written = expectations.to_yaml();
    if let Err(error) = Expectations::parse("written.yaml", &written) {
        return Err(Bug::Expectations { error: error.to_string(), text: written });
    }
    let Ok(expectations) = ExpectationMatcher::new(expectations, &Declaration::named("fuzz", "1"), false) else {
        return Ok(false);
    };
    Ok(updated_expectations(&text, &expectations, &WholeRun::new(Vec::new(), Variant::Runtime)).is_ok())
}

/// Reads a results file.
pub(crate) fn results(input: &[u8]) -> Result<bool, Bug> {
    let Ok(found) = read_results(&mut &input[..]) else { return Ok(false) };
    let mut written = Vec::new();
    let failed = |error: &dyn std::fmt::Display| Bug::Results(error.to_string());
    write_header(&mut written, &found.header).map_err(|error| failed(&error))?;
    for result in &found.results {
        write_result(&mut written, result).map_err(|error| failed(&error))?;
    }
    let reread = read_results(&mut written.as_slice()).map_err(|error| failed(&error))?;
    let (written, read) = (found.results.len(), reread.results.len());
    if read == written { Ok(true) } else { Err(Bug::ResultCount { written, read }) }
}

/// Reads a line written by an adapter, followed by a line with a type and the file of an output of that type.
pub(crate) fn answers(input: &[u8]) -> bool {
    let (line, rest) = split_line(input);
    let started = read::<Started>(line).is_ok();
    let answer = read::<Answer>(line);
    if let Ok(answer) = &answer {
        let _ = advice(answer);
    }
    let (declared, file) = split_line(rest);
    let declared: Option<ValueType> = std::str::from_utf8(declared).ok().and_then(|text| text.parse().ok());
    let output = declared.is_some_and(|declared| value(Bytes::copy_from_slice(file), &declared).is_ok());
    started || answer.is_ok() || output
}

fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or(&[]))
}
