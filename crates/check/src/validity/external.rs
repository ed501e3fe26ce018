//! External data: its declared location, and whether the file exists and is large enough. The data are never read.

use onnx_conformance_reference::proto::TensorProto;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;

use crate::finding::{Finding, Place};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Size of a page of memory, as onnx.proto has it.
const PAGE: u64 = 4096;

/// Number of hexadecimal digits of a SHA-1 digest.
const DIGITS: usize = 40;

/// The problems of a tensor's external data, given the bytes it needs; the caller sets the places.
pub(super) fn problems(context: &Context<'_, '_>, tensor: &TensorProto, needed: Option<usize>) -> Vec<Finding> {
    let finding = |rule, message: String| Finding::new(rule, Place::default(), message);
    let entry = |key: &str| {
        tensor
            .external_data
            .iter()
            .find(|entry| entry.key() == key)
            .map(onnx_conformance_reference::proto::onnx::StringStringEntryProto::value)
    };
    let Some(location) = entry("location") else {
        return vec![finding(RuleId::ExternalEntry, "external_data has no location".to_owned())];
    };
    if let Some(problem) = location_problem(location) {
        let message = format!("location '{location}' {problem}");
        let edit = "move the file into the folder of the model, and use a path relative to that folder";
        return vec![finding(RuleId::ExternalLocation, message).with_edit(edit)];
    }
    let mut found = Vec::new();
    let is_digest = |text: &&str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(text) = entry("checksum").filter(|text| !is_digest(text)) {
        let message = format!("checksum '{text}' is not a SHA-1 digest of {DIGITS} hexadecimal digits");
        found.push(finding(RuleId::ExternalChecksum, message));
    }
    let mut numbers = [None, None];
    for (number, key) in numbers.iter_mut().zip(["offset", "length"]) {
        let Some(text) = entry(key) else { continue };
        let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(value) = text.parse::<u64>().ok().filter(|_| is_decimal) {
            *number = Some(value);
        } else {
            let message = format!("{key} '{text}' is not a decimal number of bytes");
            found.push(finding(RuleId::ExternalEntry, message));
            return found;
        }
    }
    let [offset, length] = numbers;
    let needed = needed.and_then(|needed| u64::try_from(needed).ok());
    let size = match context.folder {
        Some(folder) => {
            if let Some(size) = folder.size_of(location) {
                Some(size)
            } else {
                let missing = if folder.is_link(location) {
                    let message = format!("file '{location}' is a symbolic link, which onnx does not follow");
                    finding(RuleId::ExternalMissing, message).with_edit("copy the file into the folder of the model")
                } else {
                    let message = format!("file '{location}' does not exist in the folder of the model");
                    finding(RuleId::ExternalMissing, message)
                };
                found.push(missing);
                return found;
            }
        }
        None => None,
    };
    let offset = offset.unwrap_or(0);
    let problem = size_problem((offset, length), size, needed);
    found.extend(problem.map(|problem| finding(RuleId::ExternalSize, format!("file '{location}': {problem}"))));
    found
}

/// Returns the problem of a part of a file, given the size of the file and the bytes that the elements need.
fn size_problem((offset, length): (u64, Option<u64>), size: Option<u64>, needed: Option<u64>) -> Option<String> {
    let left = size.map(|size| size.checked_sub(offset));
    let problem = match (length, left, needed) {
        (_, Some(None), _) => format!("it ends before offset {offset}"),
        (Some(length), Some(Some(left)), _) if length > left => {
            format!("it has {left} bytes after offset {offset}, but the length is {length}")
        }
        (Some(length), _, Some(needed)) if length != needed => {
            format!("the length is {length} bytes, but the elements need {needed}")
        }
        (None, Some(Some(left)), Some(needed)) if left != needed => {
            format!("it has {left} bytes after offset {offset}, but the elements need {needed}")
        }
        _ => return None,
    };
    Some(problem)
}

/// Notes initializers whose external data does not begin at a page of memory, once for the model.
pub(super) fn check_alignment(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let graphs = bodies.ids().filter_map(|id| bodies.body(id).graph());
    let offset = |tensor: &TensorProto| {
        let entry = tensor.external_data.iter().find(|entry| entry.key() == "offset")?;
        let digits = Some(entry.value()).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<u64>().ok().filter(|offset| !offset.is_multiple_of(PAGE))
    };
    let tensors = graphs.flat_map(|graph| &graph.initializer);
    let tensors = tensors.filter(|tensor| tensor.data_location() == DataLocation::External);
    let mut misplaced = tensors.filter_map(|tensor| Some((tensor.name(), offset(tensor)?)));
    let Some((name, first)) = misplaced.next() else { return };
    let message = match misplaced.count() {
        0 => format!("'{name}' begins at offset {first}"),
        count => format!("'{name}' begins at offset {first}, and {count} more are not aligned"),
    };
    context.model(RuleId::ExternalAlignment, message, None);
}

/// The problem with a location; it must be a relative path with `/`, without `..`.
fn location_problem(location: &str) -> Option<&'static str> {
    if location.is_empty() {
        Some("is empty")
    } else if location.starts_with('/') || location.contains(['\\', ':', '\0']) {
        Some("is not a relative POSIX path")
    } else if location.split('/').any(|part| part == "..") {
        Some("leaves the folder through '..'")
    } else {
        None
    }
}
