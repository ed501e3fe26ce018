//! Cases from the files under `specs/ir`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{AttributeProto, Message, ModelProto, NodeProto};
use onnx_conformance_reference::spec::embedded;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Evidence, Expected, ExpectedOutput, Level, Named, Refusal};
use crate::compare::Accuracy;
use crate::generate::file::alternatives::OneOrEach;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::ir::file::{CaseFile, GroupFile, Part, RefusalFile};
use crate::generate::make::ir::tensor::{EncodingFile, SparseFile, TensorFile, TensorFileError};
use crate::generate::plan::catalog::GenerateError;
use crate::generate::plan::value_plan::ValueBuilder;

/// Folder of the files, below `specs`.
const FOLDER: &str = "ir/";

/// A file of cases about the format.
#[derive(Debug)]
pub struct IrFile {
    path: String,
    text: &'static str,
    prefix: String,
    group: GroupFile,
}

/// Returns the embedded files: the common prefix of their ids, and their text.
pub fn embedded_ir() -> impl Iterator<Item = (String, &'static str)> {
    let name = |path: &str| path.strip_prefix(FOLDER)?.strip_suffix(".yaml").map(|name| format!("{FOLDER}{name}"));
    embedded::FILES.iter().filter_map(move |(path, text)| Some((name(path)?, *text)))
}

/// Reads a file whose ids begin with `prefix`.
pub fn read_ir(prefix: &str, text: &'static str) -> Result<IrFile, GenerateError> {
    let path = format!("specs/{prefix}.yaml");
    let group: GroupFile = yaml::read(&path, text)?;
    let file = IrFile { path, text, prefix: prefix.to_owned(), group };
    if file.group.summary.trim().is_empty() {
        return Err(file.error_at("summary", "the summary is empty; describe the cases in one sentence"));
    }
    let mut ids = ir_ids(&file);
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[String]>::first) {
        Some(id) => Err(file.error_at(id.rsplit('/').next().unwrap_or(id), format_args!("duplicate id {id}"))),
        None => Ok(file),
    }
}

/// Returns the ids of a file's cases.
pub fn ir_ids(file: &IrFile) -> Vec<String> {
    let (prefix, group) = (&file.prefix, &file.group);
    let cases = group.cases.iter().map(|case| format!("{prefix}/{}", case.name));
    let encodings =
        group.encodings.iter().flat_map(forms).map(|(encoding, raw)| format!("{prefix}/{}", form_name(encoding, raw)));
    let refusals = group.refuse.iter().map(|refusal| format!("{prefix}/refuse/{}", refusal.name));
    cases.chain(encodings).chain(refusals).collect()
}

/// Makes the selected cases of a file. Models with external data belong to `folder`.
pub fn ir_cases(file: &IrFile, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, GenerateError> {
    let (prefix, group) = (&file.prefix, &file.group);
    let mut cases = Vec::new();
    for case in &group.cases {
        let id = format!("{prefix}/{}", case.name);
        if wanted(&id) {
            cases.push(file.case(id, case, folder)?);
        }
    }
    for (encoding, raw) in group.encodings.iter().flat_map(forms) {
        let name = form_name(encoding, raw);
        let id = format!("{prefix}/{name}");
        if wanted(&id) {
            cases.push(file.case(id, &encoded(encoding, name, raw), folder)?);
        }
    }
    for refusal in &group.refuse {
        let id = format!("{prefix}/refuse/{}", refusal.name);
        if wanted(&id) {
            cases.push(file.refusal(id, refusal, folder)?);
        }
    }
    Ok(cases)
}

/// Returns the forms in which an encoding stores its tensor: false for the typed field, true for raw bytes.
fn forms(encoding: &EncodingFile) -> impl Iterator<Item = (&EncodingFile, bool)> {
    let (typed, raw) = encoding.stored.given();
    [(typed, false), (raw, true)].into_iter().filter(|(given, _)| *given).map(move |(_, raw)| (encoding, raw))
}

fn form_name(encoding: &EncodingFile, raw: bool) -> String {
    let form = if raw { "raw" } else { "typed" };
    let note = encoding.note.as_deref().map(|note| format!("{note}/")).unwrap_or_default();
    format!("{form}/{note}T={}", encoding.r#type)
}

/// Returns the case of an initializer that is passed to the output.
fn encoded(encoding: &EncodingFile, name: String, raw: bool) -> CaseFile {
    let dims: Vec<String> = encoding.dims.iter().map(i64::to_string).collect();
    let shape = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
    let output = encoding.output.as_ref().unwrap_or(&encoding.r#type);
    let operator = encoding.operator.as_deref().unwrap_or("Identity");
    let tensor = TensorFile {
        name: "w".to_owned(),
        r#type: Some(encoding.r#type.clone()),
        dims: encoding.dims.clone(),
        stored: encoding.stored.only(raw),
        ..TensorFile::default()
    };
    let expected = ValueFile {
        r#type: Some(output.clone()),
        values: Some(OneOrEach::One(encoding.values.clone())),
        ..ValueFile::default()
    };
    let newest = if operator == "Identity" { 25 } else { 28 };
    CaseFile {
        name,
        rule: "the typed field and raw bytes of a tensor mean the same elements (onnx.proto, TensorProto)".to_owned(),
        level: Level::Required,
        model: format!(
            "<ir_version: 13, opset_import: [\"\" : {newest}]> g () => ({output}{shape} y) {{ y = {operator} (w) }}"
        ),
        initializers: vec![tensor],
        sparse: Vec::new(),
        inputs: BTreeMap::new(),
        outputs: BTreeMap::from([("y".to_owned(), expected)]),
    }
}

/// Parts of a model in the file.
#[derive(Clone, Copy)]
struct ModelParts<'a> {
    /// The model in ONNX's text syntax.
    text: &'a str,
    /// Initializers of the main graph, as messages.
    initializers: &'a [TensorFile],
    /// Sparse initializers of the main graph.
    sparse: &'a [SparseFile],
}

impl IrFile {
    /// Returns the summary of the file.
    pub fn summary(&self) -> &str {
        &self.group.summary
    }

    fn case(&self, id: String, case: &CaseFile, folder: &Path) -> Result<Case, GenerateError> {
        let parts = ModelParts { text: &case.model, initializers: &case.initializers, sparse: &case.sparse };
        let model = self.model(&case.name, parts, &case.rule)?;
        let names = |outputs: bool| -> Vec<String> {
            let graph = model.graph.clone().unwrap_or_default();
            let list = if outputs { graph.output } else { graph.input };
            list.iter().map(|info| info.name().to_owned()).collect()
        };
        let inputs = self.values(&case.name, &case.inputs, &names(false))?;
        let outputs = self.values(&case.name, &case.outputs, &names(true))?;
        if outputs.len() != names(true).len() {
            return Err(self.error_at(&case.name, "every output of the graph needs a value under `outputs`"));
        }
        let expected =
            |Named { name, value }| ExpectedOutput { name, expected: Expected::Value(value, Accuracy::Exact) };
        let mut case = Case {
            folder: is_outside(&case.initializers).then(|| folder.to_owned()),
            level: case.level,
            ..Case::new(
                id,
                serialized(&model),
                vec![DataSet { inputs, outputs: outputs.into_iter().map(expected).collect() }],
            )
        };
        case.confirm(&Evidence::Literal);
        Ok(case)
    }

    fn refusal(&self, id: String, refusal: &RefusalFile, folder: &Path) -> Result<Case, GenerateError> {
        let error = |rule: &str| self.error_at(&refusal.name, rule);
        let found = self.group.cases.iter().find(|case| case.name == refusal.control);
        let control = found.ok_or_else(|| error(&format!("there is no case '{}' in this file", refusal.control)))?;
        let mut text = control.model.clone();
        for (from, to) in &refusal.replace {
            if text.matches(from.as_str()).count() != 1 {
                return Err(error(&format!("'{from}' must occur exactly once in the model of the control")));
            }
            text = text.replace(from.as_str(), to);
        }
        let initializers = refusal.initializers.as_ref().unwrap_or(&control.initializers);
        let sparse = refusal.sparse.as_ref().unwrap_or(&control.sparse);
        let parts = ModelParts { text: &text, initializers, sparse };
        let mut model = self.model(&refusal.name, parts, &refusal.rule)?;
        let mut bytes = serialized(&model);
        if let Some(part) = refusal.without {
            take_out(&mut model, part).ok_or_else(|| error("the model does not have the part to remove"))?;
            bytes = serialized(&model);
            if matches!(part, Part::Tail) {
                bytes.truncate(bytes.len() / 2);
            }
        }
        let control = self.case(format!("{}/{}", self.prefix, control.name), control, folder)?;
        if bytes == control.model {
            return Err(error("it violates nothing; add `replace`, `without`, `initializers` or `sparse`"));
        }
        let inputs = control.data.first().map(|data| data.inputs.clone()).unwrap_or_default();
        Ok(Case {
            folder: is_outside(initializers).then(|| folder.to_owned()),
            refusal: Some(Refusal { rule: refusal.rule.clone(), control: Box::new(control) }),
            level: refusal.level,
            ..Case::new(id, bytes, vec![DataSet { inputs, outputs: Vec::new() }])
        })
    }

    /// Parses a model, and adds the parts that the text syntax does not have.
    fn model(&self, name: &str, parts: ModelParts<'_>, rule: &str) -> Result<ModelProto, GenerateError> {
        let ModelParts { text, initializers, sparse } = parts;
        let mut model = parse_model(text).map_err(|error| self.error_at(name, format_args!("model: {error}")))?;
        let at_name = |error: TensorFileError| self.error_at(name, error);
        let graph = model.graph.get_or_insert_default();
        for tensor in initializers {
            graph.initializer.push(tensor.message().map_err(at_name)?);
        }
        for tensor in sparse {
            graph.sparse_initializer.push(tensor.message().map_err(at_name)?);
        }
        model.producer_name.get_or_insert_with(|| "onnx-conformance".to_owned());
        model.doc_string = Some(rule.to_owned());
        Ok(model)
    }

    /// Makes the given values, in the order of the names.
    fn values(
        &self,
        case: &str,
        files: &BTreeMap<String, ValueFile>,
        names: &[String],
    ) -> Result<Vec<Named>, GenerateError> {
        if let Some(name) = files.keys().find(|name| !names.contains(name)) {
            return Err(self.error_at(case, format_args!("the graph has no '{name}'")));
        }
        let value = |(name, file): (&String, &ValueFile)| {
            let at_value = |error: &dyn fmt::Display| self.error_at(case, format_args!("'{name}': {error}"));
            let builder = ValueBuilder { names: &BTreeMap::new(), types: &BTreeMap::default() };
            let value: Option<Value> = builder.written(file, None).map_err(|error| at_value(&error))?;
            let value = value.ok_or_else(|| at_value(&"its type cannot represent the values"))?;
            Ok(Named { name: name.clone(), value })
        };
        names.iter().filter_map(|name| files.get_key_value(name)).map(value).collect()
    }

    /// Creates an error that points at the case or refusal of a name.
    fn error_at(&self, name: &str, rule: impl fmt::Display) -> GenerateError {
        let wanted = format!("name: {name}");
        let is_here = |line: &&str| line.trim_start_matches(['-', ' ', '{']).split(',').next() == Some(&wanted);
        let lines: Vec<&str> = self.text.lines().collect();
        let at = lines.iter().position(is_here).unwrap_or(0);
        let column = lines.get(at).and_then(|line| line.find(&wanted)).map_or(1, |column| column + 1);
        let message = format!("{name}: {rule}");
        GenerateError::File(Box::new(YamlError::new(&self.path, self.text, (at + 1, column), message, None)))
    }
}

fn serialized(model: &ModelProto) -> Bytes {
    model.encode_to_vec().into()
}

/// Returns true if a tensor has external data.
fn is_outside(initializers: &[TensorFile]) -> bool {
    initializers.iter().any(|tensor| tensor.external.is_some())
}

/// Removes a part of a model; returns `None` if the model does not have it.
fn take_out(model: &mut ModelProto, part: Part) -> Option<()> {
    fn node(model: &mut ModelProto) -> Option<&mut NodeProto> {
        model.graph.as_mut()?.node.first_mut()
    }
    fn attribute(model: &mut ModelProto) -> Option<&mut AttributeProto> {
        node(model)?.attribute.first_mut()
    }
    match part {
        Part::Graph => model.graph.take().map(drop),
        Part::IrVersion => model.ir_version.take().map(drop),
        Part::Imports => (!std::mem::take(&mut model.opset_import).is_empty()).then_some(()),
        Part::Operator => node(model)?.op_type.take().map(drop),
        Part::AttributeName => attribute(model)?.name.take().map(drop),
        Part::AttributeType => attribute(model)?.r#type.take().map(drop),
        Part::AttributeValue => {
            let attribute = attribute(model)?;
            *attribute =
                AttributeProto { name: attribute.name.take(), r#type: attribute.r#type, ..AttributeProto::default() };
            Some(())
        }
        Part::InputType => model.graph.as_mut()?.input.first_mut()?.r#type.take().map(drop),
        Part::InputElement => match model.graph.as_mut()?.input.first_mut()?.r#type.as_mut()?.value.as_mut()? {
            type_proto::Value::TensorType(tensor) => tensor.elem_type.take().map(drop),
            _ => None,
        },
        Part::InputName => model.graph.as_mut()?.input.first_mut()?.name.take().map(drop),
        Part::Tail => Some(()),
    }
}
