//! `cargo xtask new-op`: creates a first op.yaml for an operator without one.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};

use anyhow::{Context as _, Result, bail};
use onnx_conformance_reference::spec::{
    AttributeSpec, AttributeType, DEFAULT_DOMAIN, FormalParameter, OpSpec, Presence, Specs,
};

use crate::{fmt_specs, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Operator name, in ONNX's spelling
    name: String,
    /// Domain of the operator
    #[arg(long, default_value = DEFAULT_DOMAIN)]
    domain: String,
}

/// Writes the file and prints the next steps.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let specs = Specs::embedded();
    let spec = specs.find(&arguments.domain, &arguments.name, specs.newest_opset(&arguments.domain)?)?;
    let (domain, name) = (&spec.version.domain, &spec.version.name);
    let relative = format!("specs/{domain}/{name}/op.yaml");
    let path = workspace::root().join(&relative);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match File::create_new(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{relative} already exists; edit it, or remove it to start over")
        }
        created => created.and_then(|mut file| file.write_all(starter(spec).as_bytes())).context(relative.clone())?,
    }
    anstream::println!("wrote {relative}; specs/ai.onnx/Sum/op.yaml is an example\n\n{}", steps(domain, name));
    Ok(())
}

/// Returns the steps of CONTRIBUTING.md, for this operator.
fn steps(domain: &str, name: &str) -> String {
    let text = include_str!("../../CONTRIBUTING.md");
    let section = text.split("\n## ").find(|section| section.starts_with("Add an operator\n")).unwrap_or_default();
    let list = section.find("\n1. ").map_or("", |start| section[start..].trim());
    list.replace("<domain>", domain).replace("<Op>", name)
}

/// Returns a first op.yaml with one case, which has what the newest version requires.
fn starter(spec: &OpSpec) -> String {
    let name = &spec.version.name;
    let outputs: Vec<&str> = spec.outputs.iter().map(|formal| formal.name.as_str()).collect();
    let outputs = outputs.join(", ");
    let mut text = format!(
        "op: {name}\n\
         summary: What {name} computes, in one sentence of our own.\n\
         formula: \"{outputs} = ...\"\n\
         shape: \"{outputs}: ...\"\n\
         accuracy: exact\n\
         constraints:\n  C1:\n    says: what {name} demands of its inputs or promises of its outputs\n    about: [{outputs}]\n    cases:\n      - name: basic\n"
    );
    let inputs: Vec<String> = spec.inputs.iter().filter_map(input).collect();
    if !inputs.is_empty() {
        let _ = writeln!(text, "        inputs: {{{}}}", inputs.join(", "));
    }
    let required = spec.attributes.iter().filter(|(_, attribute)| attribute.required);
    let settings: Vec<String> = required.map(|(name, attribute)| format!("{name}: {}", setting(attribute))).collect();
    if !settings.is_empty() {
        let _ = writeln!(text, "        set: {{{}}}", settings.join(", "));
    }
    fmt_specs::format(&text).unwrap_or(text)
}

/// Formats an input that the version requires, as in a case.
fn input(formal: &FormalParameter) -> Option<String> {
    let value = "{shape: [2, 3]}";
    let name = &formal.name;
    match formal.presence {
        Presence::Single => Some(format!("{name}: {value}")),
        Presence::Variadic { min: 0, .. } | Presence::Optional => None,
        Presence::Variadic { min, .. } => {
            let values = vec![value; min];
            Some(format!("{name}: [{}]", values.join(", ")))
        }
    }
}

/// Returns a placeholder value of an attribute's type.
fn setting(attribute: &AttributeSpec) -> &'static str {
    match attribute.kind {
        AttributeType::Int => "1",
        AttributeType::Float => "1.0",
        AttributeType::String => "text",
        AttributeType::Ints => "[1]",
        AttributeType::Floats => "[1.0]",
        AttributeType::Strings => "[text]",
        AttributeType::Graph | AttributeType::Graphs => "{graph: \"\"}",
        _ => "{type: float, values: [1]}",
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::generate::OperatorCatalog;

    use super::*;

    #[test]
    fn the_steps_are_those_of_the_document() {
        let steps = steps("ai.onnx", "Sum");
        assert!(steps.starts_with("1. Version files") && steps.ends_with("then `cargo xtask ci`."), "{steps}");
        assert!(steps.contains("run --specs specs 'ai.onnx/Sum-*'") && !steps.contains('<'), "{steps}");
    }

    #[test]
    fn the_first_file_of_every_operator_reads_and_fits() {
        let specs = Specs::embedded();
        for domain in specs.domains() {
            for name in specs.operators(domain) {
                let spec = specs.find(domain, name, specs.newest_opset(domain).unwrap()).unwrap();
                let path = format!("{domain}/{name}/op.yaml");
                assert_eq!(fmt_specs::format(&starter(spec)).unwrap(), starter(spec));
                let operators = OperatorCatalog::new("specs", [(path, starter(spec))]);
                if let Err(error) = operators.get(&spec.version) {
                    panic!("{error}\n{}", starter(spec));
                }
            }
        }
    }
}
