//! What the generated cases promise of their own values: nothing that a fill makes stands on a tie, every partial sum of what
//! a fill makes is exact, and the bound of a sum follows from its terms.

use std::collections::BTreeSet;

use onnx_conformance_reference::dtype::{ElementType, FloatFormat, Kind};
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::budget::Limits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::tensor::shape::{around_axis, normalize_axis};
use onnx_conformance_reference::tensor::{Buffer, Tensor};
use onnx_conformance_reference::value::Value;
use rayon::prelude::*;

use crate::case::{Expected, Level};
use crate::generate::OperatorCatalog;
use crate::generate::accuracy::{AccuracyFile, ResolvedAccuracy};
use crate::generate::instance::{NodeDraft, values_of};
use crate::generate::operator::{CaseFile, OperatorFile, ValueFile};
use crate::generate::version::{Planned, VersionContext, by_name};

/// A case whose node and values are made.
struct Made<'a> {
    operator: &'a str,
    since: u32,
    parts: NodeDraft,
    /// The inputs that a fill makes.
    filled: BTreeSet<String>,
}

impl Made<'_> {
    fn tensor(&self, position: usize) -> Option<&Tensor> {
        let name = self.parts.input_names.get(position)?;
        self.parts.inputs.iter().find(|input| input.name == *name)?.value.as_tensor()
    }

    /// An input that a fill makes.
    fn fill(&self, position: usize) -> Option<&Tensor> {
        let name = self.parts.input_names.get(position)?;
        self.filled.contains(name).then(|| self.tensor(position))?
    }

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.parts.attributes.iter().find(|attribute| attribute.name() == name)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, AttributeProto::i)
    }

    /// The axis along which the operator works on a tensor.
    fn axis(&self, default: i64, rank: usize) -> usize {
        normalize_axis(self.int("axis", default), rank).unwrap_or(0)
    }

    fn text(&self, name: &str) -> String {
        self.attribute(name).map_or_else(String::new, |attribute| String::from_utf8_lossy(attribute.s()).into_owned())
    }
}

/// The names in the model of the inputs that a fill makes.
fn filled(planned: &Planned<'_>) -> BTreeSet<String> {
    let is_filled = |file: &ValueFile| file.values.is_none() && file.sequence.is_none() && file.map.is_none();
    let mut names = BTreeSet::new();
    if planned.case.nodes.is_some() {
        return names;
    }
    for (name, input) in &planned.case.inputs.0 {
        let Some((_, formal)) = planned.fitted.input(name) else { continue };
        for (at, _) in values_of(input).0.iter().enumerate().filter(|(_, file)| is_filled(file)) {
            names.insert(if formal.is_variadic() { format!("{}_{at}", formal.name) } else { formal.name.clone() });
        }
    }
    names
}

/// What a rule finds: the operand, the position in it, and what is wrong.
type Found = Vec<(String, usize, String)>;

/// Every violation of a rule, over every case that must run and whose expectation is judged.
fn violations(operators: &[&str], rule: impl Fn(&Made<'_>) -> Found + Sync) -> Vec<String> {
    over_cases(
        |file| operators.contains(&file.op.as_str()),
        |version, planned| {
            let parts = version.parts(planned).map_err(|error| error.to_string())?;
            let OperatorVersion { name, since, .. } = &version.spec.version;
            let made = Made { operator: name, since: *since, parts, filled: filled(planned) };
            Ok(rule(&made))
        },
    )
}

fn over_cases(
    wanted: impl Fn(&OperatorFile) -> bool + Sync,
    rule: impl for<'a> Fn(&VersionContext<'a>, &Planned<'a>) -> Result<Found, String> + Sync,
) -> Vec<String> {
    let operators = OperatorCatalog::embedded();
    let versions: Vec<_> = Specs::embedded().all().collect();
    let of_version = |version| {
        let version = VersionContext::new(&operators, version).unwrap_or_else(|error| panic!("{error}"));
        if !wanted(version.file) {
            return Vec::new();
        }
        let planned = version.planned().unwrap_or_else(|error| panic!("{error}"));
        let mut lines = Vec::new();
        for planned in planned.iter().filter(|planned| planned.case.level != Level::Open) {
            let found = rule(&version, planned).unwrap_or_else(|error| panic!("{}: {error}", planned.id));
            let line = |(operand, at, what)| format!("{} {operand}[{at}]: {what}", planned.id);
            lines.extend(found.into_iter().map(line));
        }
        lines
    };
    let mut lines: Vec<String> = versions.par_iter().flat_map_iter(of_version).collect();
    lines.sort();
    lines
}

fn assert_none(lines: &[String]) {
    assert!(lines.is_empty(), "{} places, such as\n{}", lines.len(), lines[..lines.len().min(200)].join("\n"));
}

fn is_half(value: f64) -> bool {
    value.is_finite() && libm::fabs(value - libm::trunc(value)) == 0.5
}

/// The elements of an operand that a test finds.
fn places(operand: &str, values: impl IntoIterator<Item = f64>, is_wrong: impl Fn(f64) -> bool, what: &str) -> Found {
    let values = values.into_iter().enumerate().filter(|(_, value)| is_wrong(*value));
    values.map(|(at, value)| (operand.to_owned(), at, format!("{value} {what}"))).collect()
}

#[test]
fn nothing_that_a_fill_makes_is_rounded_from_a_tie() {
    let rounding = [
        "Cast",
        "CastLike",
        "DynamicQuantizeLinear",
        "GridSample",
        "MaxRoiPool",
        "QuantizeLinear",
        "Resize",
        "Round",
        "Upsample",
    ];
    assert_none(&violations(&rounding, ties));
}

fn ties(made: &Made<'_>) -> Found {
    let name = |position: usize| made.parts.input_names[position].clone();
    match made.operator {
        "Round" => {
            let Some(tensor) = made.fill(0) else { return Found::new() };
            places(&name(0), tensor.floats(), is_half, "is a tie")
        }
        "QuantizeLinear" => quantized_ties(made),
        "DynamicQuantizeLinear" => {
            let Some(tensor) = made.fill(0) else { return Found::new() };
            let values = tensor.floats();
            let (low, high) = values.iter().fold((0f64, 0f64), |(low, high), &value| (low.min(value), high.max(value)));
            let scale = ElementType::Float.decode_f64(ElementType::Float.round((high - low) / 255.0));
            places(&name(0), values.into_iter().map(|value| value / scale), |value| near_half(value, 1e-5), "is a tie")
        }
        "Cast" | "CastLike" => cast_ties(made),
        "GridSample" if made.text("mode") == "nearest" => grid_ties(made),
        "MaxRoiPool" => {
            let Some(rois) = made.fill(1) else { return Found::new() };
            let scale = made.attribute("spatial_scale").map_or(1.0, |attribute| f64::from(attribute.f()));
            places(&name(1), rois.floats().into_iter().map(|value| value * scale), is_half, "is a tie")
        }
        // Scales, sizes and regions decide where these read; a fill makes none of them.
        "Resize" | "Upsample" => (1..4)
            .filter_map(|at| made.fill(at).filter(|tensor| !tensor.is_empty()).map(|_| name(at)))
            .filter(|name| name != "roi")
            .map(|name| (name, 0, "is filled".to_owned()))
            .collect(),
        _ => Found::new(),
    }
}

fn near_half(value: f64, margin: f64) -> bool {
    value.is_finite() && libm::fabs(libm::fabs(value - libm::trunc(value)) - 0.5) < margin
}

/// The quotients that are quantized.
fn quantized_ties(made: &Made<'_>) -> Found {
    let (Some(x), Some(scale)) = (made.tensor(0), made.tensor(1)) else { return Found::new() };
    if made.fill(0).is_none() && made.fill(1).is_none() {
        return Found::new();
    }
    let scales = scale.floats();
    let axis = made.axis(1, x.rank());
    let block = usize::try_from(made.int("block_size", 0)).unwrap_or(0);
    let of = |at: usize| {
        if scales.len() == 1 {
            return scales[0];
        }
        let (_, inner) = around_axis(x.shape(), axis);
        let (along, size) = (at / inner % x.shape()[axis], x.shape()[axis]);
        if scale.rank() == 1 {
            return scales[along];
        }
        let outer = at / inner / size;
        scales[(outer * scale.shape()[axis] + along / block.max(1)) * inner + at % inner]
    };
    let quotients = x.floats().into_iter().enumerate().map(|(at, value)| value / of(at));
    let target = match (made.tensor(2), made.int("output_dtype", 0)) {
        (Some(zero_point), _) => Some(zero_point.element_type()),
        (None, code) => i32::try_from(code).ok().and_then(ElementType::from_code),
    };
    let name = &made.parts.input_names[0];
    match target.filter(|target| target.is_float()) {
        Some(target) => places(name, quotients, |value| is_between(target, value), "is a tie"),
        None => places(name, quotients, |value| near_half(value, 1e-6), "is a tie"),
    }
}

/// Whether a value lies halfway between two of a type: a little farther from the one that it is rounded to, it is rounded
/// to the other.
fn is_between(target: ElementType, value: f64) -> bool {
    let round = |value: f64| target.decode_f64(target.round(value));
    let error = value - round(value);
    let next = round(value + error * 1e-3);
    error != 0.0 && error.is_finite() && next.is_finite() && next != round(value)
}

/// Values halfway between two of the target type.
fn cast_ties(made: &Made<'_>) -> Found {
    let target = match made.operator {
        "Cast" => i32::try_from(made.int("to", 0)).ok().and_then(ElementType::from_code),
        _ => made.tensor(1).map(Tensor::element_type),
    };
    let (Some(tensor), Some(target)) = (made.fill(0), target.filter(|target| target.is_float())) else {
        return Found::new();
    };
    match tensor.element_type().kind() {
        Kind::Float | Kind::Signed | Kind::Unsigned => {
            places(&made.parts.input_names[0], tensor.floats(), |value| is_between(target, value), "is a tie")
        }
        _ => Found::new(),
    }
}

/// Places halfway between two pixels.
fn grid_ties(made: &Made<'_>) -> Found {
    let (Some(x), Some(grid)) = (made.tensor(0), made.fill(1)) else { return Found::new() };
    let (dimensions, aligned) = (x.rank() - 2, made.int("align_corners", 0) != 0);
    let place = |(at, value): (usize, f64)| {
        // The last number of a place is about the first of the image's dimensions from the back.
        let size = x.shape()[x.rank() - 1 - at % dimensions] as f64;
        if aligned { f64::midpoint(value, 1.0) * (size - 1.0) } else { ((value + 1.0) * size - 1.0) / 2.0 }
    };
    places(&made.parts.input_names[1], grid.floats().into_iter().enumerate().map(place), is_half, "is a tie")
}

#[test]
fn nothing_that_a_fill_makes_has_two_largest_elements() {
    assert_none(&violations(&["ArgMax", "ArgMin", "Hardmax", "MaxPool", "NonMaxSuppression", "TopK"], equal_elements));
}

/// Elements of one value among those that are compared with each other.
fn equal_elements(made: &Made<'_>) -> Found {
    let position = usize::from(made.operator == "NonMaxSuppression");
    let Some(tensor) = made.fill(position) else { return Found::new() };
    let along = |default| Lanes::AlternativeAxis(made.axis(default, tensor.rank()));
    let lanes = match made.operator {
        "ArgMax" | "ArgMin" => along(0),
        "Hardmax" if made.since < 13 => Lanes::From(made.axis(1, tensor.rank())),
        "Hardmax" | "NonMaxSuppression" | "TopK" => along(-1),
        // Only the places tell which of two equal elements was taken.
        "MaxPool" if made.parts.output_names.get(1).is_some_and(|name| !name.is_empty()) => Lanes::From(2),
        _ => return Found::new(),
    };
    let bits: Vec<u64> = (0..tensor.len()).map(|at| tensor.bits_at(at)).collect();
    let values: BTreeSet<u64> = bits.iter().copied().collect();
    let mut found = Found::new();
    for lane in lanes.of(tensor.shape()) {
        // Few values in all make ties on purpose, in versions whose text says which element is taken.
        let decided = match made.operator {
            "ArgMax" | "ArgMin" => made.since >= 12,
            operator => operator == "TopK" || operator == "Hardmax",
        };
        let few = decided && values.len() <= 3.max(lane.len() / 2);
        let mut seen = BTreeSet::new();
        if let Some(at) = lane.iter().find(|at| !seen.insert(bits[**at])).filter(|_| !few) {
            found.push((made.parts.input_names[position].clone(), *at, "is there twice".to_owned()));
        }
    }
    found
}

/// Which elements are compared with each other.
enum Lanes {
    /// Those along an axis.
    AlternativeAxis(usize),
    /// Those of all axes from one on.
    From(usize),
}

impl Lanes {
    fn of(&self, shape: &[usize]) -> Vec<Vec<usize>> {
        let count: usize = shape.iter().product();
        let (size, inner) = match *self {
            Lanes::AlternativeAxis(axis) => {
                (shape.get(axis).copied().unwrap_or(1), shape.iter().skip(axis + 1).product())
            }
            Lanes::From(axis) => (shape.iter().skip(axis).product::<usize>(), 1),
        };
        let (size, inner): (usize, usize) = (size.max(1), inner);
        let starts = (0..count).filter(|at| at / inner.max(1) % size == 0);
        starts.map(|start| (0..size).map(|along| start + along * inner).collect()).collect()
    }
}

/// Operators that add up products or elements of their inputs.
const ACCUMULATING: [&str; 44] = [
    "Attention",
    "AveragePool",
    "BatchNormalization",
    "CausalConvWithState",
    "Col2Im",
    "Conv",
    "ConvTranspose",
    "CumSum",
    "DFT",
    "DeformConv",
    "Det",
    "Einsum",
    "GRU",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GridSample",
    "GroupNormalization",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "LinearClassifier",
    "LinearRegressor",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "Mean",
    "MeanVarianceNormalization",
    "NegativeLogLikelihoodLoss",
    "RMSNormalization",
    "RNN",
    "ReduceL1",
    "ReduceL2",
    "ReduceMean",
    "ReduceSum",
    "ReduceSumSquare",
    "Resize",
    "RoiAlign",
    "STFT",
    "ScatterElements",
    "ScatterND",
    "Sum",
    "Upsample",
];

/// How many bits fills have behind the point, and how many of a sum are kept: those of double are compensated, which makes
/// them as wide as two.
fn grid_of(element: ElementType) -> (i32, i32) {
    if element == ElementType::Double { (23, 106) } else { (10, 53) }
}

#[test]
fn partial_sums_of_what_a_fill_makes_are_exact_in_any_order() {
    assert_none(&violations(&ACCUMULATING, inexact_sums));
}

fn inexact_sums(made: &Made<'_>) -> Found {
    // These only move elements where nothing is added up.
    let adds = match made.operator {
        "ScatterElements" | "ScatterND" => made.attribute("reduction").is_some(),
        "Resize" | "Upsample" => !["", "nearest"].contains(&made.text("mode").as_str()),
        "GridSample" => made.text("mode") != "nearest",
        _ => true,
    };
    if !adds {
        return Found::new();
    }
    let tensors = made.parts.inputs.iter().filter(|input| made.filled.contains(&input.name));
    let floats = tensors.filter_map(|input| {
        let tensor = input.value.as_tensor()?;
        let element = tensor.element_type();
        (element.kind() == Kind::Float).then(|| (input.name.as_str(), grid_of(element), tensor.floats()))
    });
    let operands: Vec<(&str, (i32, i32), Vec<f64>)> = floats.collect();
    let mut found = Found::new();
    for (name, (fraction, _), values) in &operands {
        let grid = libm::scalbn(1.0, *fraction);
        found.extend(places(
            name,
            values.iter().copied(),
            |value| libm::trunc(value * grid) != value * grid,
            "is off the grid",
        ));
    }
    let widest = operands.iter().map(|(_, grid, _)| *grid).max();
    let (fraction, kept) = widest.unwrap_or((0, 53));
    let largest = |values: &Vec<f64>| values.iter().fold(0f64, |most, value| most.max(libm::fabs(*value)));
    let terms = operands.iter().map(|(.., values)| values.len()).max().unwrap_or(0) as f64;
    // A term has one factor of each input of an Einsum, and elsewhere two at most.
    let factors = if made.operator == "Einsum" { operands.len().max(2) } else { 2 };
    let factor = operands.iter().map(|(.., values)| largest(values)).fold(1.0, f64::max) * libm::scalbn(1.0, fraction);
    let most = terms * libm::pow(factor, factors as f64);
    if let Some((name, ..)) = operands.first().filter(|_| most >= libm::scalbn(1.0, kept)) {
        found.push(((*name).to_owned(), 0, format!("sums grow to {most}")));
    }
    found
}

#[test]
fn the_bound_of_a_sum_follows_from_its_terms() {
    let is_sum = |accuracy: &AccuracyFile| match accuracy {
        AccuracyFile::Rule(rule) => {
            rule.sum.is_some() || rule.by_type.0.iter().any(|(_, rule)| format!("{rule:?}").contains("sum: Some"))
        }
        _ => false,
    };
    let of_case = |case: &CaseFile| case.accuracy.as_ref().is_some_and(is_sum);
    let wanted = |file: &OperatorFile| is_sum(&file.accuracy) || file.cases.iter().any(of_case);
    assert_none(&over_cases(wanted, |version, planned| {
        if filled(planned).is_empty() {
            return Ok(Found::new());
        }
        let accuracy = planned.case.accuracy.as_ref().unwrap_or(&version.file.accuracy);
        let names = planned.fitted.sizes()?;
        let case = version.make(planned).map_err(|error| error.to_string())?;
        let mut found = Found::new();
        for output in &case.data[0].outputs {
            let Expected::Bounded(value, bound) = &output.expected else { continue };
            let ResolvedAccuracy::Sum(multiple) = accuracy.ask(value.element_type(), &names)? else { continue };
            let unit = multiple * value.element_type().float_format().map_or(0.0, FloatFormat::unit_roundoff);
            let terms: Vec<f64> = bound.floats().into_iter().map(|bound| bound / unit).collect();
            found.extend(cancellation(&output.name, &value.floats(), &terms));
        }
        Ok(found)
    }));
}

/// How many times larger than a sum its terms may be, and which share of an output may be an exception.
const MOST_CANCELLED: f64 = 1024.0;
const EXCEPTIONS: f64 = 0.5;

/// A sum is no larger than its terms; and most sums are not much smaller, or any output would be within the bound.
fn cancellation(output: &str, values: &[f64], terms: &[f64]) -> Found {
    let pairs = || values.iter().zip(terms).enumerate().filter(|(_, (value, _))| value.is_finite());
    let mut found = Found::new();
    for (at, (value, terms)) in pairs() {
        // A value of the element type may have been rounded up.
        if libm::fabs(*value) > terms * 1.01 {
            found.push((output.to_owned(), at, format!("{value} is more than {terms}")));
        }
    }
    let cancelled =
        pairs().filter(|(_, (value, terms))| **value != 0.0 && **terms > libm::fabs(**value) * MOST_CANCELLED);
    let cancelled: Vec<usize> = cancelled.map(|(at, _)| at).collect();
    if cancelled.len() as f64 > EXCEPTIONS * values.len() as f64 {
        found.push((output.to_owned(), cancelled[0], format!("{} of {} sums cancel", cancelled.len(), values.len())));
    }
    found
}

#[test]
fn no_quantized_sum_of_what_a_fill_makes_is_rounded_from_a_tie() {
    let wanted = |file: &OperatorFile| ["QLinearConv", "QLinearMatMul"].contains(&file.op.as_str());
    assert_none(&over_cases(wanted, |version, planned| {
        if filled(planned).is_empty() {
            return Ok(Found::new());
        }
        let case = version.make(planned).map_err(|error| error.to_string())?;
        let model = read_model(case.model.clone(), &NoExternalData, &LoadLimits::default())
            .map_err(|error| error.to_string())?;
        let outputs = |towards: i64| -> Result<Tensor, String> {
            let mut inputs = by_name(&case.data[0].inputs);
            if let Some(Value::Tensor(scale)) = inputs.get_mut("y_scale") {
                // The next value of bfloat16 is too far away: every quotient changes.
                if scale.element_type() != ElementType::Bfloat16 {
                    *scale = beside(scale, towards);
                }
            }
            let values = run(&model, inputs, Limits::default()).map_err(|error| error.to_string())?;
            values[0].as_tensor().cloned().ok_or_else(|| "no tensor".to_owned())
        };
        let (below, above) = (outputs(-1)?.integers(), outputs(1)?.integers());
        let differs = (0..below.len()).filter(|&at| below[at] != above[at]);
        Ok(differs.map(|at| ("y_out".to_owned(), at, "is rounded from a tie".to_owned())).collect())
    }));
}

/// The representable values next to those of a tensor of scales.
fn beside(scale: &Tensor, towards: i64) -> Tensor {
    let bits: Vec<u64> = (0..scale.len()).map(|at| scale.bits_at(at).wrapping_add_signed(towards)).collect();
    Buffer::unlimited(scale.element_type(), scale.shape().to_vec()).unwrap().bits(bits).unwrap()
}

#[test]
fn no_place_is_written_twice_by_what_a_fill_makes() {
    let scattering = ["MaxUnpool", "Scatter", "ScatterElements", "ScatterND"];
    assert_none(&violations(&scattering, |made| {
        let Some(places) = made.fill(1).filter(|_| made.attribute("reduction").is_none()) else { return Found::new() };
        let lanes = if made.operator.starts_with("Scatter") && made.operator != "ScatterND" {
            Lanes::AlternativeAxis(made.axis(0, places.rank()))
        } else {
            Lanes::From(0)
        };
        let at = places.indices();
        let mut found = Found::new();
        for lane in lanes.of(places.shape()) {
            let mut seen = BTreeSet::new();
            found.extend(
                lane.iter()
                    .find(|place| !seen.insert(at[**place]))
                    .map(|place| (made.parts.input_names[1].clone(), *place, "is there twice".to_owned())),
            );
        }
        found
    }));
}
