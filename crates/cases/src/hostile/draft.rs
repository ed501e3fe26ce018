//! Drafts of hostile models: a valid model, and the change that makes it hostile.

use std::io;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{TextError, parse_model};
use onnx_conformance_reference::proto::{GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, TensorProto};
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::value::Value;

use crate::case::Named;

/// Error of making a hostile model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The text of the model is invalid.
    #[error(transparent)]
    Text(#[from] TextError),
    /// An input or output cannot be created.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// A draft, or the reason why it cannot be made.
pub(super) type DraftResult = Result<Draft, DraftError>;

/// One attack: its name, which is the last part of its id; its description; and the function that makes the model.
#[derive(Debug)]
pub struct Attack {
    /// Last part of the id.
    pub name: &'static str,
    /// The attack in a sentence.
    pub says: &'static str,
    pub(super) make: fn() -> DraftResult,
}

/// A hostile model, and the correct reactions of a runtime.
pub(super) struct Draft {
    pub(super) model: Bytes,
    pub(super) inputs: Vec<Named>,
    pub(super) answer: Answer,
    /// Writes the files next to the model into a folder, if the model names some.
    pub(super) files: Option<fn(&Path) -> io::Result<()>>,
}

/// Correct reactions to a hostile model.
pub(super) enum Answer {
    /// A refusal, or these outputs.
    Outputs(Vec<Named>),
    /// A refusal. The valid model runs.
    Refusal(Box<ValidModel>),
    /// A refusal, or any outputs.
    Any,
}

/// A model that runs, with its inputs and outputs.
#[derive(Clone)]
pub(super) struct ValidModel {
    pub(super) model: ModelProto,
    pub(super) inputs: Vec<Named>,
    pub(super) outputs: Vec<Named>,
}

/// Parses a model in the text syntax, with its inputs and outputs by name.
pub(super) fn valid_model(
    text: &str,
    inputs: Vec<(&str, Result<Value, TensorError>)>,
    outputs: Vec<(&str, Result<Value, TensorError>)>,
) -> Result<ValidModel, DraftError> {
    let named = |(name, value): (&str, Result<Value, TensorError>)| Ok(Named { name: name.to_owned(), value: value? });
    Ok(ValidModel {
        model: parse_model(text)?,
        inputs: inputs.into_iter().map(named).collect::<Result<_, TensorError>>()?,
        outputs: outputs.into_iter().map(named).collect::<Result<_, TensorError>>()?,
    })
}

/// The simplest model: y = -x of two floats.
pub(super) fn negation() -> Result<ValidModel, DraftError> {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    valid_model(text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[-1.0, 2.0]))])
}

/// Model that negates an initializer of two floats: `y = -w`.
pub(super) fn weight() -> Result<ValidModel, DraftError> {
    let text =
        r#"<ir_version: 7, opset_import: ["" : 13]> g () => (float[2] y) <float[2] w = {1, -2}> { y = Neg (w) }"#;
    valid_model(text, Vec::new(), vec![("y", floats(&[2], &[-1.0, 2.0]))])
}

/// A model without inputs from nodes in the text syntax, with one output of this name, type and value.
pub(super) fn nodes(nodes: &str, output: (&str, &str, Result<Value, TensorError>)) -> Result<ValidModel, DraftError> {
    nodes_at((7, 13), nodes, output)
}

/// Parses nodes as [`nodes`] does, at an IR version and an opset.
pub(super) fn nodes_at(
    (ir, opset): (u32, u32),
    nodes: &str,
    (name, declared, value): (&str, &str, Result<Value, TensorError>),
) -> Result<ValidModel, DraftError> {
    let text = format!(r#"<ir_version: {ir}, opset_import: ["" : {opset}]> g () => ({declared} {name}) {{ {nodes} }}"#);
    valid_model(&text, Vec::new(), vec![(name, value)])
}

impl ValidModel {
    /// Changes the model without changing its meaning.
    pub(super) fn changed(mut self, change: impl FnOnce(&mut ModelProto)) -> ValidModel {
        change(&mut self.model);
        self
    }

    /// A draft with known outputs: a runtime refuses it or returns them.
    pub(super) fn answered(self) -> DraftResult {
        let bytes = self.model.encode_to_vec();
        self.answered_as(|_| bytes)
    }

    /// A draft as above, with changed bytes of the model.
    #[expect(clippy::unnecessary_wraps, reason = "every maker of a model ends with one of these")]
    pub(super) fn answered_as(self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> DraftResult {
        let model = change(self.model.encode_to_vec()).into();
        Ok(Draft { model, inputs: self.inputs, answer: Answer::Outputs(self.outputs), files: None })
    }

    /// A draft that a runtime must refuse: this model with one change.
    pub(super) fn refused(self, change: impl FnOnce(&mut ModelProto)) -> DraftResult {
        let mut model = self.model.clone();
        change(&mut model);
        self.refused_as(|_| model.encode_to_vec())
    }

    /// A draft as above, with changed bytes of the model.
    #[expect(clippy::unnecessary_wraps, reason = "every maker of a model ends with one of these")]
    pub(super) fn refused_as(self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> DraftResult {
        let model = change(self.model.encode_to_vec()).into();
        Ok(Draft { model, inputs: self.inputs.clone(), answer: Answer::Refusal(Box::new(self)), files: None })
    }

    /// A draft that a runtime must refuse: a model with other nodes, in the text syntax.
    pub(super) fn refused_for(self, nodes: &str) -> DraftResult {
        let import = self.model.opset_import.first().map_or(13, OperatorSetIdProto::version);
        let output = self.model.graph.as_ref().and_then(|graph| graph.output.first()).map_or("y", |info| info.name());
        let text = format!(
            r#"<ir_version: {}, opset_import: ["" : {import}]> g () => ({output}) {{ {nodes} }}"#,
            self.model.ir_version()
        );
        let mut model = parse_model(&text)?;
        if let (Some(graph), Some(own)) = (model.graph.as_mut(), self.model.graph.as_ref()) {
            graph.output.clone_from(&own.output);
        }
        self.refused_as(|_| model.encode_to_vec())
    }

    /// A draft to which a runtime must react, in any way.
    #[expect(clippy::unnecessary_wraps, reason = "every maker of a model ends with one of these")]
    pub(super) fn any(self) -> DraftResult {
        let model = self.model.encode_to_vec().into();
        Ok(Draft { model, inputs: self.inputs, answer: Answer::Any, files: None })
    }
}

/// Returns the main graph of a model.
pub(super) fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.get_or_insert_default()
}

/// Changes the first node of the main graph.
pub(super) fn first_node(model: &mut ModelProto, change: impl FnOnce(&mut NodeProto)) {
    if let Some(node) = graph(model).node.first_mut() {
        change(node);
    }
}

/// Changes the first initializer of the main graph.
pub(super) fn first_weight(model: &mut ModelProto, change: impl FnOnce(&mut TensorProto)) {
    if let Some(tensor) = graph(model).initializer.first_mut() {
        change(tensor);
    }
}

/// A tensor of floats.
pub(super) fn floats(shape: &[usize], values: &[f64]) -> Result<Value, TensorError> {
    Tensor::of_floats(ElementType::Float, shape, values).map(Value::Tensor)
}

/// A tensor of 64-bit integers.
pub(super) fn integers(shape: &[usize], values: &[i128]) -> Result<Value, TensorError> {
    Tensor::of_integers(ElementType::Int64, shape, values).map(Value::Tensor)
}

/// Returns the shape of a tensor of these sizes, as the operator Shape does.
pub(super) fn shape(sizes: &[i128]) -> Result<Value, TensorError> {
    integers(&[sizes.len()], sizes)
}

/// A truth value.
pub(super) fn truth(value: bool) -> Result<Value, TensorError> {
    Tensor::of_integers(ElementType::Bool, &[], &[value.into()]).map(Value::Tensor)
}

/// Formats the type of a float tensor in the text syntax.
pub(super) fn declared(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    format!("float[{}]", sizes.join(","))
}
