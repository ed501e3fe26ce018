//! Cases of several nodes, written in ONNX's text syntax.

use std::collections::BTreeSet;

use onnx_conformance_reference::proto::{NodeProto, Text};
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{OpSpec, Specs, canonical_domain};

use crate::generate::file::op_file::CaseFile;
use crate::generate::file::yaml_text::YamlText;
use crate::generate::plan::error::FitError;
use crate::generate::plan::graph_text::{GraphTextError, Parameters, parameters, place_in_file, read_names};

/// A mistake in the nodes of a case, and the word of the text to point at.
struct Mistake<'a> {
    /// Line and column in the text of the nodes, from 1; `None` if the mistake is about the case.
    place: Option<(usize, usize)>,
    /// A word of the nodes or of the case to point at.
    word: Option<&'a str>,
    message: String,
    help: String,
}

impl<'a> Mistake<'a> {
    fn in_case(message: String, help: &str) -> Mistake<'a> {
        Mistake { place: None, word: None, message, help: help.to_owned() }
    }

    fn at(word: &'a str, message: String, help: String) -> Mistake<'a> {
        Mistake { place: None, word: Some(word), message, help }
    }
}

/// Returns the first mistake that does not depend on version or types, as an error that points at it.
pub(crate) fn check(source: YamlText<'_>, op: &str, case: &CaseFile) -> Result<(), Box<YamlError>> {
    let nodes = case.nodes.as_deref().map(read_untyped);
    let Some(Mistake { place, word, message, help }) = mistake(op, case, nodes.as_ref()) else { return Ok(()) };
    let text = source.text;
    let case_place = source.places(&case.name).next().unwrap_or((1, 1));
    let nodes_place = place.or_else(|| find(case.nodes.as_deref().unwrap_or_default(), word?));
    let shown = nodes_place.map_or_else(
        || word.and_then(|word| find_below(text, case_place, word)).unwrap_or(case_place),
        |place| place_in_file(source, case_place.0..usize::MAX, "nodes", place).unwrap_or(case_place),
    );
    Err(source.error(shown, message, Some(help)))
}

/// Parses the nodes, with `float` for each type that the case chooses.
fn read_untyped(text: &str) -> Result<Vec<NodeProto>, GraphTextError> {
    let mut types = Parameters::default();
    parameters(text).for_each(|(_, name)| types.insert(name, "float".to_owned()));
    types.nodes("nodes", text)
}

fn mistake<'a>(
    op: &str,
    case: &'a CaseFile,
    nodes: Option<&'a Result<Vec<NodeProto>, GraphTextError>>,
) -> Option<Mistake<'a>> {
    let (nodes, under_test) = match (nodes, &case.under_test) {
        (None, None) => return None,
        (None, Some(_)) => {
            return Some(Mistake::in_case("under_test requires nodes".to_owned(), "write the nodes, or remove it"));
        }
        (Some(_), None) => {
            let help = format!("write `under_test: {op}`");
            return Some(Mistake::in_case("the operator under test is missing".to_owned(), &help));
        }
        (Some(Err(error)), _) => {
            let help = "nodes are written as in `y = Add (a, b)` or `y = Concat <axis = 0> (a, b)`, one per line";
            let place = error.place();
            return Some(Mistake { place, word: None, message: error.to_string(), help: help.to_owned() });
        }
        (Some(Ok(nodes)), Some(under_test)) => (nodes, under_test.as_str()),
    };
    if under_test != op {
        let message = format!("the operator under test is {under_test}, but the file is that of {op}");
        return Some(Mistake::at(
            under_test,
            message,
            format!("write `under_test: {op}`, or move the case to {under_test}"),
        ));
    }
    if !case.set.0.is_empty() || !case.bind.0.is_empty() {
        let help = "write attributes in the nodes, and give settings that are inputs under `inputs`";
        return Some(Mistake::in_case("`set` and `bind` only apply to a case of one node".to_owned(), help));
    }
    let is_known = |node: &&NodeProto| Specs::embedded().versions(node.domain(), node.op_type()).next().is_some();
    if let Some(node) = nodes.iter().find(|node| !is_known(node)) {
        let message = format!("there is no operator {} in {}", node.op_type(), canonical_domain(node.domain()));
        return Some(Mistake::at(
            node.op_type(),
            message,
            "correct the name; operators have folders below specs".to_owned(),
        ));
    }
    if !nodes.iter().any(|node| node.op_type() == under_test) {
        let message = format!("no node is a {under_test}, the operator under test");
        let known: Vec<&str> = nodes.iter().map(NodeProto::op_type).collect();
        return Some(Mistake::at(under_test, message, format!("the operators of the nodes are {}", known.join(", "))));
    }
    mistake_of_values(case, nodes)
}

/// Returns the first mistake about the inputs and outputs of the graph.
fn mistake_of_values<'a>(case: &'a CaseFile, nodes: &'a [NodeProto]) -> Option<Mistake<'a>> {
    let made: BTreeSet<&str> = nodes.iter().flat_map(|node| &node.output).map(Text::as_str).collect();
    let read = read_names(nodes);
    if let Some(name) = case.inputs.keys().find(|name| !read.contains(*name)) {
        let help = "remove the input, or read it in a node".to_owned();
        return Some(Mistake::at(name, format!("no node reads '{name}'"), help));
    }
    let wanted = || graph_outputs(case);
    if let Some(name) = wanted().find(|name| !made.contains(name)) {
        let made: Vec<&str> = made.into_iter().filter(|name| !name.is_empty()).collect();
        return Some(Mistake::at(
            name,
            format!("no node has the output '{name}'"),
            format!("the outputs are {}", made.join(", ")),
        ));
    }
    if wanted().next().is_none() {
        let help = "name outputs of nodes under `outputs`, or under `request`";
        return Some(Mistake::in_case("a case of several nodes has no output".to_owned(), help));
    }
    None
}

/// Returns the outputs of the graph.
pub(crate) fn graph_outputs(case: &CaseFile) -> impl Iterator<Item = &str> {
    let requested = case.request.iter().flatten().map(String::as_str);
    case.outputs.keys().chain(requested.filter(|name| case.outputs.get(name).is_none()))
}

/// Finds a word in a text, as line and column from 1.
fn find(text: &str, word: &str) -> Option<(usize, usize)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.lines().enumerate().find_map(|(line, content)| {
        let is_whole =
            |at: &usize| !content[..*at].ends_with(is_part) && !content[at + word.len()..].starts_with(is_part);
        let at = content.match_indices(word).map(|(at, _)| at).find(is_whole)?;
        Some((line + 1, at + 1))
    })
}

/// Finds a word in the file from a line on.
fn find_below(text: &str, (line, _): (usize, usize), word: &str) -> Option<(usize, usize)> {
    let from = text.split_inclusive('\n').take(line).map(str::len).sum();
    find(text.get(from..)?, word).map(|(below, column)| (line + below, column))
}

/// Checks that a version has the operators of the nodes. Nodes that do not parse are an error of [`check`].
pub(crate) fn check_fit(case: &CaseFile, spec: &OpSpec) -> Result<(), FitError> {
    let Some(Ok(nodes)) = case.nodes.as_deref().map(read_untyped) else { return Ok(()) };
    for node in &nodes {
        let same = canonical_domain(node.domain()) == canonical_domain(&spec.version.domain);
        let newest = || Specs::embedded().newest_released_opset(node.domain()).ok();
        let Some(opset) = same.then_some(spec.version.since).or_else(newest) else { continue };
        Specs::embedded()
            .find(node.domain(), node.op_type(), opset)
            .map_err(|_| FitError::UnknownOperator { operator: node.op_type().to_owned(), opset })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::file::op_file::read_operator;

    const UNIQUE: &str = "\
op: Unique
summary: The unique elements.
cases:
  - name: gathered
    under_test: Unique
    inputs: {x: {values: [3, 1], type: T}}
    nodes: |
      unique, first, inverse = Unique (x)
      back = Gather (unique, inverse)
    outputs: {back: {same_as: x}}
";

    /// Returns the message, line and column of the error for the file with `from` replaced by `to`.
    fn mistake(from: &str, to: &str) -> Option<(String, usize, usize)> {
        assert!(UNIQUE.contains(from));
        let text = UNIQUE.replacen(from, to, 1);
        let file = read_operator(YamlText::whole("specs/ai.onnx/Unique/op.yaml", &text)).unwrap();
        let error = check(YamlText::whole("op.yaml", &text), &file.op, &file.cases[0]).err()?;
        let message = error.to_string();
        let mut place = message.split(':').skip(1).map(|part| part.trim().parse().unwrap_or(0));
        let line = place.next().unwrap_or(0);
        let offset =
            miette::Diagnostic::labels(&*error).and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
        let column = offset - text[..offset].rfind('\n').map_or(0, |at| at + 1) + 1;
        Some((message, line, column))
    }

    #[test]
    fn a_mistake_is_shown_at_its_position() {
        assert_eq!(mistake("op:", "op:"), None);
        let rows = [
            ("= Gather (unique, inverse)", "= Gather unique", "", 9, 21),
            ("Gather", "Gathers", "there is no operator Gathers in ai.onnx", 9, 14),
            ("type: T}}", "type: T}, z: {values: [1]}}", "no node reads 'z'", 6, 44),
            ("{back: {same", "{bock: {same", "no node has the output 'bock'", 10, 15),
            ("= Unique (x)", "= Relu (x)", "no node is a Unique, the operator under test", 5, 17),
            ("    under_test: Unique\n", "", "the operator under test is missing", 4, 11),
            (
                "under_test: Unique",
                "under_test: TopK",
                "the operator under test is TopK, but the file is that of Unique",
                5,
                17,
            ),
            ("    outputs: {back: {same_as: x}}\n", "", "has no output", 4, 11),
            (
                "    inputs:",
                "    set: {sorted: 0}\n    inputs:",
                "`set` and `bind` only apply to a case of one node",
                4,
                11,
            ),
        ];
        for (from, to, message, line, column) in rows {
            let (text, at, of_line) = mistake(from, to).unwrap_or_else(|| panic!("{to} is not refused"));
            assert!(text.contains(message), "{to}: {text}");
            assert_eq!((at, of_line), (line, column), "{to}: {text}");
        }
    }
}
