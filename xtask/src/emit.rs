//! Writes version files and releases.yaml in a canonical format, so that a text diff shows exactly the changes.

use std::fmt::Write as _;

use onnx_conformance_reference::spec::{
    AttributeSpec, DefaultValue, FormalParameter, OpSpec, Presence, Releases, TextFacts, Texts,
};

/// Formats a version file.
pub(crate) fn version_file(spec: &OpSpec) -> String {
    let mut text = String::new();
    let version = &spec.version;
    line(&mut text, &format!("op: {}", version.name));
    line(&mut text, &format!("domain: {}", version.domain));
    line(&mut text, &format!("since: {}", version.since));
    flag(&mut text, "deprecated", spec.deprecated);
    flag(&mut text, "experimental", spec.experimental);
    if let Some(function) = spec.function {
        line(&mut text, &format!("function: {function}"));
    }
    flag(&mut text, "shape_inference", spec.shape_inference);
    if !spec.attributes.is_empty() {
        line(&mut text, "attributes:");
        for (name, attribute) in &spec.attributes {
            line(&mut text, &format!("  {}: {{{}}}", scalar(name), fields(attribute)));
        }
    }
    formals(&mut text, "inputs", &spec.inputs);
    formals(&mut text, "outputs", &spec.outputs);
    if !spec.types.is_empty() {
        line(&mut text, "types:");
        for (parameter, types) in &spec.types {
            line(&mut text, &format!("  {}:", scalar(parameter)));
            for value_type in types {
                line(&mut text, &format!("    - {}", scalar(&value_type.to_string())));
            }
        }
    }
    text
}

/// Formats releases.yaml.
pub(crate) fn releases_file(releases: &Releases) -> String {
    let mut text = String::from("# Written by `cargo xtask import-specs`; do not edit.\nreleases:\n");
    for release in &releases.releases {
        let opsets: Vec<String> = release.opsets.iter().map(|(domain, opset)| format!("{domain}: {opset}")).collect();
        let (onnx, ir, opsets) = (&release.onnx, release.ir, opsets.join(", "));
        line(&mut text, &format!("  - {{onnx: \"{onnx}\", ir: {ir}, opsets: {{{opsets}}}}}"));
    }
    text
}

/// Formats texts.yaml.
pub(crate) fn texts_file(texts: &Texts) -> String {
    let mut text = String::from("# Written by `cargo xtask import-specs`; do not edit.\ntexts:\n");
    for (version, TextFacts { lines, digest }) in &texts.texts {
        line(&mut text, &format!("  {version}: {{lines: {lines}, digest: \"{digest}\"}}"));
    }
    text
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

fn flag(text: &mut String, name: &str, set: bool) {
    if set {
        line(text, &format!("{name}: true"));
    }
}

fn fields(attribute: &AttributeSpec) -> String {
    let mut fields = format!("type: {}", attribute.kind);
    if attribute.required {
        fields.push_str(", required: true");
    }
    if let Some(default) = &attribute.default {
        let _ = write!(fields, ", default: {}", literal(default));
    }
    fields
}

fn literal(value: &DefaultValue) -> String {
    match value {
        DefaultValue::Int(value) => value.to_string(),
        DefaultValue::Float(value) => float(*value),
        DefaultValue::String(value) => flow_scalar(value),
        DefaultValue::Ints(values) => list(values, i64::to_string),
        DefaultValue::Floats(values) => list(values, |value| float(*value)),
        DefaultValue::Strings(values) => list(values, |value| flow_scalar(value)),
    }
}

fn list<T>(values: &[T], write: impl Fn(&T) -> String) -> String {
    format!("[{}]", values.iter().map(write).collect::<Vec<_>>().join(", "))
}

/// Formats the shortest decimal that parses back to this float, in a form that YAML 1.1 parsers also read as a number.
fn float(value: f32) -> String {
    let digits = format!("{value:?}");
    let Some((mantissa, exponent)) = digits.split_once('e') else { return digits };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

fn formals(text: &mut String, key: &str, formals: &[FormalParameter]) {
    if formals.is_empty() {
        return;
    }
    line(text, &format!("{key}:"));
    for formal in formals {
        let mut fields =
            format!("name: {}, type: {}", flow_scalar(&formal.name), flow_scalar(&formal.kind.to_string()));
        match formal.presence {
            Presence::Single => {}
            Presence::Optional => fields.push_str(", option: optional"),
            Presence::Variadic { min, heterogeneous } => {
                fields.push_str(", option: variadic");
                if min != 1 {
                    let _ = write!(fields, ", min: {min}");
                }
                if heterogeneous {
                    fields.push_str(", heterogeneous: true");
                }
            }
        }
        line(text, &format!("  - {{{fields}}}"));
    }
}

/// Formats a text as a YAML scalar, quoted only if it could be read as something else.
fn scalar(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "~"].contains(&lower.as_str());
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let indicator = text.contains([':', '#', '[', ']', '{', '}', '"', '\'', '\n', '\\']) || text.ends_with(' ');
    if starts_plain && !reserved && !indicator { text.to_owned() } else { format!("{text:?}") }
}

/// Formats a text inside a flow map or list, where a comma ends a scalar.
fn flow_scalar(text: &str) -> String {
    if text.contains(',') { format!("{text:?}") } else { scalar(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_the_shortest_that_read_back() {
        for (value, written) in [
            (1e-5_f32, "1.0e-5"),
            (0.9, "0.9"),
            (f32::MIN, "-3.4028235e+38"),
            (-0.0, "-0.0"),
            (1.050_701, "1.050701"),
            (2.0, "2.0"),
        ] {
            assert_eq!(float(value), written);
        }
    }

    #[test]
    fn texts_that_read_as_something_else_are_quoted() {
        for (text, written) in [
            ("NOTSET", "NOTSET"),
            ("", "\"\""),
            ("no", "\"no\""),
            ("1", "\"1\""),
            ("outputs...", "outputs..."),
            ("a: b", "\"a: b\""),
        ] {
            assert_eq!(scalar(text), written);
        }
        assert_eq!(flow_scalar("map(int64, float)"), "\"map(int64, float)\"");
    }
}
