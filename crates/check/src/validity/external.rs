//! External data: its declared location, and whether the file exists and is large enough. The data are never read.

use onnx_conformance_reference::proto::TensorProto;

use crate::finding::{Finding, Place};
use crate::rules::RuleId;
use crate::validity::context::Context;

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
    let mut numbers = [None, None];
    for (number, key) in numbers.iter_mut().zip(["offset", "length"]) {
        let Some(text) = entry(key) else { continue };
        let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(value) = text.parse::<u64>().ok().filter(|_| is_decimal) {
            *number = Some(value);
        } else {
            let message = format!("{key} '{text}' is not a decimal number of bytes");
            return vec![finding(RuleId::ExternalEntry, message)];
        }
    }
    let [offset, length] = numbers;
    let needed = needed.and_then(|needed| u64::try_from(needed).ok());
    let size = match context.folder {
        Some(folder) => {
            if let Some(size) = folder.size_of(location) {
                Some(size)
            } else {
                let message = format!("file '{location}' does not exist in the folder of the model");
                return vec![finding(RuleId::ExternalMissing, message)];
            }
        }
        None => None,
    };
    let offset = offset.unwrap_or(0);
    let left = size.map(|size| size.checked_sub(offset));
    let message = match (length, left, needed) {
        (_, Some(None), _) => format!("file '{location}' ends before offset {offset}"),
        (Some(length), Some(Some(left)), _) if length > left => {
            format!("file '{location}' has {left} bytes after offset {offset}, but the length is {length}")
        }
        (Some(length), _, Some(needed)) if length != needed => {
            format!("the length is {length} bytes, but the elements need {needed}")
        }
        (None, Some(Some(left)), Some(needed)) if left != needed => {
            format!("file '{location}' has {left} bytes after offset {offset}, but the elements need {needed}")
        }
        _ => return Vec::new(),
    };
    vec![finding(RuleId::ExternalSize, message)]
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
