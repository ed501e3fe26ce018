//! Half precision in `convert`: the options, the conversion with its runs, and its report.

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_check::convert::half::{HalfModel, HalfRequest, keepable_names};
use onnx_conformance_check::convert::inline_functions_except;
use onnx_conformance_check::rules::RuleId;
use onnx_conformance_check::scan::scan;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_report::models::{
    HalfAnswer, HalfPrecisionError, HalfQuestion, HalfReference, NodeError, Proof, half_precision, model_name,
};
use serde::Serialize;

use crate::cli::limits::Allowance;
use crate::cli::options;
use crate::cli::suggest::nearest;
use crate::cli::usage::Usage;
use crate::cli::verify::{RunInputs, Verification, folder_of, not_verified};

/// Number of errors that are listed by default.
const SHOWN_ERRORS: usize = 5;

/// Half precision.
#[derive(Debug, Args)]
pub(crate) struct HalfOptions {
    /// Compute in float16 instead of float, wherever the operators take it and lose little
    #[arg(long, group = "half")]
    float16: bool,

    /// Compute in bfloat16 instead of float, wherever the operators take it and lose little
    #[arg(long, group = "half")]
    bfloat16: bool,

    /// Keep operators or nodes in float: an operator, such as Softmax or com.x/Op, or the name of a node. A comma separates several
    #[arg(long, value_name = "OP|NODE", value_delimiter = ',', requires = "half")]
    keep: Vec<String>,

    /// Also change the type of the inputs and outputs of the model
    #[arg(long, requires = "half")]
    half_io: bool,

    /// Number of values with the largest errors to list [default: 5]
    #[arg(long, value_name = "N", value_parser = options::count, requires = "half")]
    errors: Option<usize>,
}

impl HalfOptions {
    /// Returns the requested type, if any.
    pub(crate) fn element(&self) -> Option<ElementType> {
        match (self.float16, self.bfloat16) {
            (true, _) => Some(ElementType::Float16),
            (_, true) => Some(ElementType::Bfloat16),
            _ => None,
        }
    }

    /// Returns the request for a model, or an error that suggests the nearest names if one is unknown.
    fn request(&self, element: ElementType, model: &ModelProto) -> anyhow::Result<HalfRequest> {
        let names = keepable_names(model);
        if let Some(name) = self.keep.iter().find(|name| !names.contains(*name)) {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or_else(
                || "write an operator, such as Softmax or com.x/Op, or the name of a node".to_owned(),
                |near| format!("did you mean '{near}'?"),
            );
            bail!(Usage(format!("--keep {name}: the model has no such operator or node; {hint}")));
        }
        let request = HalfRequest::new(element);
        Ok(HalfRequest { keep: self.keep.iter().cloned().collect(), half_io: self.half_io, ..request })
    }
}

/// Model in half precision.
pub(crate) struct HalfConversion {
    /// The file.
    pub(crate) file: Bytes,
    /// The comparison of the outputs.
    pub(crate) proof: Proof,
    /// The report.
    pub(crate) report: HalfReport,
    /// Other facts.
    pub(crate) remarks: Vec<String>,
}

/// Report of a conversion to half precision.
#[derive(Debug, Serialize)]
pub(crate) struct HalfReport {
    /// The type.
    element: String,
    /// Number of nodes that compute in it.
    nodes: usize,
    /// Number of added Cast nodes.
    casts: usize,
    /// Weights that were rounded.
    weights: Weights,
    /// Nodes with float values that stay in float.
    float: Vec<Float>,
    /// Values that the converted model was compared with. Missing if it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<ReferenceReport>,
    /// Errors of values, the largest first. Empty if the models were not compared.
    errors: Vec<ValueError>,
    #[serde(skip)]
    reasons: Vec<String>,
    #[serde(skip)]
    shown_errors: usize,
}

#[derive(Debug, Serialize)]
struct Weights {
    rounded: usize,
    elements: usize,
    /// Nonzero elements that became zero.
    underflows: usize,
}

#[derive(Debug, Serialize)]
struct Float {
    place: String,
    reason: String,
}

/// Values that a converted model was compared with.
#[derive(Debug, Serialize)]
struct ReferenceReport {
    /// The type that the original model ran in.
    element: &'static str,
    /// The reason why it did not run in double.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl ReferenceReport {
    fn new(reference: HalfReference) -> ReferenceReport {
        match reference {
            HalfReference::Double => ReferenceReport { element: "double", reason: None },
            HalfReference::Float(reason) => ReferenceReport { element: "float", reason: Some(reason) },
        }
    }

    /// Returns the reason why the original model did not run in double.
    fn text(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(format!("compared with the original model in {}, not in double: {reason}", self.element))
    }
}

#[derive(Debug, Serialize)]
struct ValueError {
    node: String,
    value: String,
    error: f64,
    overflows: usize,
    underflows: usize,
}

impl HalfReport {
    fn new(
        element: ElementType,
        half: &HalfModel,
        reference: Option<HalfReference>,
        errors: Vec<NodeError>,
        shown_errors: usize,
    ) -> HalfReport {
        let sum =
            |of: fn(&onnx_conformance_check::convert::half::RoundedWeight) -> usize| half.weights.iter().map(of).sum();
        let float =
            half.float_nodes.iter().map(|node| Float { place: node.place.clone(), reason: node.reason.to_string() });
        let error = |it: NodeError| ValueError {
            node: it.node,
            value: it.value,
            error: it.error,
            overflows: it.overflows,
            underflows: it.underflows,
        };
        HalfReport {
            element: element.to_string(),
            nodes: half.half_nodes,
            casts: half.casts,
            weights: Weights {
                rounded: half.weights.len(),
                elements: sum(|weight| weight.elements),
                underflows: sum(|weight| weight.underflows),
            },
            float: float.collect(),
            reference: reference.map(ReferenceReport::new),
            errors: errors.into_iter().map(error).collect(),
            reasons: half.reasons(),
            shown_errors,
        }
    }

    /// Returns the result in one line.
    pub(crate) fn summary(&self) -> String {
        let nodes = |count: usize| if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
        match (self.nodes, self.float.len()) {
            (0, 0) => format!("nothing to do: the model has no float values to compute in {}", self.element),
            (half, 0) => format!("{} in {}", nodes(half), self.element),
            (half, float) => format!("{} in {}, {float} in float", nodes(half), self.element),
        }
    }

    /// Returns the lines below the summary.
    pub(crate) fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.weights.rounded > 0 {
            let Weights { rounded, elements, underflows } = self.weights;
            let s = if rounded == 1 { "" } else { "s" };
            lines.push(format!("{rounded} weight{s} rounded; {underflows} of {elements} elements become zero"));
        }
        match self.casts {
            0 => {}
            1 => lines.push("1 Cast added".to_owned()),
            casts => lines.push(format!("{casts} Casts added")),
        }
        lines.extend(self.reasons.iter().cloned());
        lines.extend(self.reference.iter().filter_map(ReferenceReport::text));
        lines
    }

    /// Returns a line for each of the largest errors.
    pub(crate) fn largest_errors(&self) -> Vec<String> {
        let line = |it: &ValueError| {
            let more = |count: usize, what: &str| match count {
                0 => String::new(),
                1 => format!("; 1 element becomes {what}"),
                count => format!("; {count} elements become {what}"),
            };
            format!(
                "{}, '{}': {:.1e} of its largest element{}{}",
                it.node,
                it.value,
                it.error,
                more(it.overflows, "infinite"),
                more(it.underflows, "zero")
            )
        };
        let is_shown = |it: &&ValueError| it.error > 0.0 || it.overflows > 0 || it.underflows > 0;
        self.errors.iter().filter(is_shown).take(self.shown_errors).map(line).collect()
    }
}

/// Converts the model in a file to half precision.
pub(crate) fn convert_to_half(
    options: &HalfOptions,
    element: ElementType,
    file: &Bytes,
    verification: &Verification<'_>,
) -> anyhow::Result<HalfConversion> {
    let Verification { allowance, .. } = verification;
    let name = model_name(verification.model);
    let limits = allowance.limits();
    let model = decode::model(file.clone()).with_context(|| name.clone())?;
    let request = options.request(element, &model)?;
    let graph = model.graph.as_ref().with_context(|| format!("{name}: the model has no graph"))?;
    let (inputs, why) = match RunInputs::new(verification, graph)? {
        Ok(inputs) => (Some(inputs), None),
        Err(why) => (None, Some(why)),
    };
    let question = HalfQuestion {
        model: &model,
        request: &request,
        folder: Some(folder_of(verification.model)),
        limits: &limits,
        count: inputs.as_ref().map_or(0, RunInputs::count),
        ways: &|number| inputs.as_ref().map_or(0, |inputs| inputs.ways(number)),
        inputs: &|number, way| match &inputs {
            Some(inputs) => inputs.inputs(number, way),
            None => Ok((String::new(), Vec::new())),
        },
    };
    let HalfAnswer { half, proof, reference, nodes } = half_precision(&question).map_err(|error| match error {
        HalfPrecisionError::Limit(over) => not_verified(verification, &over.0),
        HalfPrecisionError::Half(_) if allowance.deadline().is_over() => {
            allowance.limit_error(&format!("{name} was not converted"))
        }
        HalfPrecisionError::Half(error) => anyhow::Error::new(Usage(format!("{name}: {error}"))),
    })?;
    if let Some(weight) = half.external.first() {
        bail!(Usage(format!(
            "{name}: weights such as '{weight}' are in other files; move them into the model with --external inline and -o"
        )));
    }
    let shown = options.errors.unwrap_or(SHOWN_ERRORS);
    Ok(HalfConversion {
        report: HalfReport::new(element, &half, reference, nodes, shown),
        file: half.model.encode_to_vec().into(),
        proof: why.map_or(proof, |why| Proof::not_verified(&why)),
        remarks: unknown_fields(file, *allowance),
    })
}

/// Replaces the calls of functions, whose nodes are then converted like others. Calls that the options name stay.
pub(crate) fn without_calls(
    options: &HalfOptions,
    file: Bytes,
    allowance: Allowance,
    remarks: &mut Vec<String>,
) -> anyhow::Result<Bytes> {
    let kept_in_float = options.keep.iter().cloned().collect();
    let inlined = inline_functions_except(&decode::model(file.clone())?, &kept_in_float, &allowance.deadline());
    match inlined.calls {
        0 => {}
        1 => remarks.push("1 call of a function is replaced by the function's nodes".to_owned()),
        calls => remarks.push(format!("{calls} calls of functions are replaced by the functions' nodes")),
    }
    remarks.extend(inlined.kept.into_iter().map(|why| format!("a call stays in float: the function {why}")));
    Ok(if inlined.calls == 0 { file } else { inlined.model.encode_to_vec().into() })
}

/// Returns a remark about fields that ONNX does not define, which are lost.
fn unknown_fields(file: &Bytes, allowance: Allowance) -> Vec<String> {
    let Ok(scan) = scan(file.as_ref(), &allowance.limits()) else { return Vec::new() };
    let unknown = scan.findings.kept().iter().find(|finding| finding.rule == RuleId::FileUnknownField);
    let remark = unknown.map(|finding| format!("fields that ONNX does not define are dropped: {}", finding.message));
    remark.into_iter().collect()
}
