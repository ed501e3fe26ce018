//! List of all faults, most of them derived from the specs.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::kernels::framework::call::{Call, Result};
use onnx_conformance_reference::kernels::framework::registry::Kernel;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::spec::{AttributeType, Draws, FormalType, OpSpec, Presence, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::call::copy;
use crate::formula::{BINARY, NARROW, UNARY};
use crate::linear::Linear;
use crate::{Change, Class, Fault};

/// All faults, by operator and class.
pub fn all() -> Vec<Fault> {
    let mut faults = Vec::new();
    for operator in operators() {
        faults.extend(operator.formulas());
        faults.extend(operator.attributes());
        faults.extend(operator.inputs());
        faults.extend(operator.types());
        faults.extend(operator.sizes());
        faults.extend(operator.precisions());
        faults.extend(operator.neighbours());
    }
    for fault in &mut faults {
        fault.undecided = undecided(fault);
    }
    faults
}

/// All versions of an operator.
struct Operator {
    domain: &'static str,
    name: &'static str,
    versions: Vec<&'static OpSpec>,
}

fn operators() -> Vec<Operator> {
    let specs = Specs::embedded();
    let mut operators = Vec::new();
    for domain in specs.domains() {
        for name in specs.operators(domain) {
            let found = specs.versions(domain, name).filter_map(|since| specs.find(domain, name, since).ok());
            operators.push(Operator { domain, name, versions: found.filter(|spec| !spec.deprecated).collect() });
        }
    }
    operators
}

// The lists of operators below belong to the faults, not to the operators: each names the kernels that a wrong
// computation applies to, or for which the suite must detect it. Facts that follow from the signatures are derived in
// `Operator`.

/// Operators that sum over axes of their first input, with the axes that the faulty sum takes.
const SUMS: &[(&str, Linear)] = &[
    ("MatMul", Linear::Axis(-1)),
    ("Gemm", Linear::Axis(1)),
    ("Conv", Linear::Axis(1)),
    ("ConvTranspose", Linear::Axis(1)),
    ("ReduceSum", Linear::Everything),
    ("ReduceMean", Linear::Everything),
    ("GlobalAveragePool", Linear::Axis(-1)),
    ("AveragePool", Linear::Axis(-1)),
    ("CumSum", Linear::Axis(-1)),
    ("Einsum", Linear::Everything),
];

/// Operators whose 16-bit results must be accurate to better than 1 %. The `accuracy` in op.yaml does not show it:
/// results of `Div` are exact, and those of `Einsum` are as accurate as the cases allow.
const ELEMENTARY: &[&str] = &[
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "AveragePool",
    "BatchNormalization",
    "Celu",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "CumSum",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "GRU",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LSTM",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MatMul",
    "Mean",
    "Mish",
    "Mul",
    "Pow",
    "RMSNormalization",
    "RNN",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Selu",
    "Sigmoid",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
];

/// Operators that use whole rows, each with the number of elements of a row that the faulty kernel reads. The cases
/// need longer rows.
const ROWS: &[(&str, usize)] = &[
    ("ArgMax", 4096),
    ("ArgMin", 4096),
    ("CumSum", 1024),
    ("Gemm", 512),
    ("LayerNormalization", 1024),
    ("LogSoftmax", 1024),
    ("MatMul", 512),
    ("MatMulInteger", 128),
    ("QLinearMatMul", 128),
    ("RMSNormalization", 1024),
    ("ReduceL1", 1024),
    ("ReduceL2", 1024),
    ("ReduceLogSumExp", 1024),
    ("ReduceMax", 1024),
    ("ReduceMean", 1024),
    ("ReduceMin", 1024),
    ("ReduceProd", 1024),
    ("ReduceSum", 1024),
    ("ReduceSumSquare", 1024),
    ("Softmax", 1024),
    ("Hardmax", 1024),
    ("TopK", 1024),
    ("GlobalAveragePool", 64),
    ("GlobalMaxPool", 64),
    ("LpNormalization", 1024),
    ("NonZero", 1024),
];

/// Operators whose results do not depend on the last digits of the data: they return sizes, signs, or comparisons with 0 or NaN,
/// which follows from their texts alone. Random operators are coarse, too.
const COARSE: &[&str] = &[
    "BlackmanWindow",
    "EyeLike",
    "HammingWindow",
    "HannWindow",
    "IsNaN",
    "MelWeightMatrix",
    "NonZero",
    "OptionalHasElement",
    "Shape",
    "Sign",
    "Size",
];

/// Operators that return tensors without a checked element after the last block: few elements, equal ones, or random
/// ones. `Multinomial` is random, too, but each of its rows has a separate distribution, which the cases check.
const WITHOUT_TAIL: &[&str] = &[
    "Bernoulli",
    "ConstantOfShape",
    "MelWeightMatrix",
    "OptionalHasElement",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "SequenceLength",
    "Shape",
    "Size",
];

/// Operators that compute in floating types, whatever the input type, and can return integers or labels. Their texts
/// decide it, not their signatures.
const FLOATING: &[&str] = &[
    "Binarizer",
    "Erf",
    "GridSample",
    "Imputer",
    "LinearClassifier",
    "QuantizeLinear",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "Resize",
    "SVMClassifier",
    "TreeEnsembleClassifier",
    "Upsample",
];

/// Operators that return positions of elements. Other outputs of int64 are sizes, counts or places in windows.
const POSITIONS: &[&str] = &["ArgMax", "ArgMin", "NonZero", "TopK", "Unique"];

/// Operators with a required case that moves more elements than 16 bits can count.
const MOVERS: &[&str] = &[
    "Add",
    "Cast",
    "Compress",
    "Concat",
    "CumSum",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "Mul",
    "NonZero",
    "Pad",
    "Range",
    "Relu",
    "Reshape",
    "ReverseSequence",
    "ScatterElements",
    "ScatterND",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

impl Operator {
    fn all_versions(&self) -> (u32, u32) {
        let since = |spec: Option<&&OpSpec>| spec.map_or(0, |spec| spec.version.since);
        (since(self.versions.first()), since(self.versions.last()))
    }

    fn fault(&self, class: Class, versions: (u32, u32), what: impl Into<String>, change: Change) -> Fault {
        let (domain, operator) = (self.domain.to_owned(), self.name.to_owned());
        Fault { domain, operator, versions, class, what: what.into(), change, undecided: None }
    }

    fn is_onnx(&self, name: &str) -> bool {
        self.domain == "ai.onnx" && self.name == name
    }

    /// True if the outputs of all nodes are random.
    fn is_random(&self) -> bool {
        self.versions.iter().any(|spec| spec.facts.draws == Draws::Always)
    }

    /// True if the operator takes integers or other data that are not floats, and returns only floats.
    fn turns_integers_into_floats(&self) -> bool {
        let is_float = |kind: &ValueType| matches!(kind, ValueType::Tensor(element) if element.is_float());
        let takes_others =
            |spec: &OpSpec| spec.inputs.first().is_some_and(|formal| !spec.allowed(&formal.kind).iter().all(is_float));
        let mut returned = self.versions.iter().flat_map(|spec| outputs(spec));
        self.versions.iter().any(|spec| takes_others(spec)) && returned.all(is_float)
    }

    /// True if some version returns a tensor.
    fn returns_tensors(&self) -> bool {
        let mut returned = self.versions.iter().flat_map(|spec| outputs(spec));
        returned.any(|kind| matches!(kind, ValueType::Tensor(_)))
    }

    fn formulas(&self) -> Vec<Fault> {
        let unary = UNARY.iter().filter(|(name, ..)| self.is_onnx(name));
        let unary = unary.map(|(_, what, formula)| (what, Change::Unary(*formula)));
        let binary = BINARY.iter().filter(|(name, ..)| self.is_onnx(name));
        let binary = binary.map(|(_, what, formula)| (what, Change::Binary(*formula)));
        let versions = self.all_versions();
        unary.chain(binary).map(|(what, change)| self.fault(Class::Formula, versions, *what, change)).collect()
    }

    /// Faults that ignore each optional attribute.
    fn attributes(&self) -> Vec<Fault> {
        let mut names: BTreeMap<&'static str, (u32, u32)> = BTreeMap::new();
        for spec in &self.versions {
            for (name, attribute) in &spec.attributes {
                if !attribute.required && !matches!(attribute.kind, AttributeType::Graph) {
                    let since = spec.version.since;
                    names.entry(name).and_modify(|range| range.1 = since).or_insert((since, since));
                }
            }
        }
        let fault = |(name, versions)| {
            self.fault(Class::Attribute, versions, format!("ignores {name}"), Change::WithoutAttribute(name))
        };
        names.into_iter().map(fault).collect()
    }

    /// Faults that ignore each optional input.
    fn inputs(&self) -> Vec<Fault> {
        let mut places: BTreeMap<(usize, &'static str), (u32, u32)> = BTreeMap::new();
        for spec in &self.versions {
            let optional = spec.inputs.iter().enumerate().filter(|(_, formal)| formal.presence == Presence::Optional);
            for (at, formal) in optional {
                let since = spec.version.since;
                places.entry((at, &formal.name)).and_modify(|range| range.1 = since).or_insert((since, since));
            }
        }
        let fault = |((at, name), versions)| {
            self.fault(Class::Attribute, versions, format!("ignores the input {name}"), Change::WithoutInput(at))
        };
        places.into_iter().map(fault).collect()
    }

    /// Faults that convert data through a type that cannot represent them.
    fn types(&self) -> Vec<Fault> {
        let conversions = [
            (ElementType::Int64, ElementType::Double),
            (ElementType::Int64, ElementType::Int32),
            (ElementType::Int32, ElementType::Float),
            (ElementType::Uint64, ElementType::Int64),
            (ElementType::Double, ElementType::Float),
            (ElementType::Float, ElementType::Float16),
            (ElementType::Bfloat16, ElementType::Float16),
        ];
        let is_floating = FLOATING.contains(&self.name) || self.turns_integers_into_floats();
        let is_excluded = |from: ElementType| {
            let is_integer_or_double = !from.is_float() || from == ElementType::Double && self.domain == "ai.onnx.ml";
            COARSE.contains(&self.name)
                || self.is_random()
                || is_floating && is_integer_or_double
                || from == ElementType::Bfloat16 && !self.uses_full_range()
        };
        let has = |spec: &OpSpec, element: ElementType| {
            let formal = spec.inputs.first().map(|formal| &formal.kind);
            formal.is_some_and(|kind| match kind {
                FormalType::Parameter(_) => spec.allowed(kind).contains(&ValueType::Tensor(element)),
                FormalType::Literal(_) => false,
            })
        };
        let mut faults = Vec::new();
        for (from, to) in conversions.into_iter().filter(|(from, _)| !is_excluded(*from)) {
            let mut with = self.versions.iter().filter(|spec| has(spec, from)).map(|spec| spec.version.since);
            let Some(first) = with.next() else { continue };
            let versions = (first, with.next_back().unwrap_or(first));
            faults.push(self.fault(Class::Type, versions, format!("{from} through {to}"), Change::Through(from, to)));
        }
        faults
    }

    /// True if the cases pass values of the whole bfloat16 range through the operator.
    fn uses_full_range(&self) -> bool {
        let others = [
            "Abs",
            "Clip",
            "Conv",
            "Div",
            "Gemm",
            "MatMul",
            "Max",
            "Min",
            "Neg",
            "ReduceMax",
            "ReduceSum",
            "Sub",
            "Sum",
        ];
        MOVERS.iter().chain(&others).any(|name| self.is_onnx(name))
    }

    fn sizes(&self) -> Vec<Fault> {
        let (versions, mut faults) = (self.all_versions(), Vec::new());
        let mut add = |what: String, change| faults.push(self.fault(Class::Size, versions, what, change));
        if self.domain == "ai.onnx" && self.returns_tensors() && !WITHOUT_TAIL.contains(&self.name) {
            add("elements after the last block of 8".to_owned(), Change::Tail(8));
        }
        if MOVERS.iter().any(|name| self.is_onnx(name)) {
            add("elements after the first 65,536".to_owned(), Change::Repeats(1 << 16));
        }
        for (_, max) in ROWS.iter().filter(|(name, _)| self.is_onnx(name)) {
            add(format!("elements of a row after the first {max}"), Change::Unseen(*max));
        }
        if POSITIONS.iter().any(|name| self.is_onnx(name)) {
            add("positions in 16 bits".to_owned(), Change::LowBits);
        }
        faults
    }

    fn precisions(&self) -> Vec<Fault> {
        let (versions, mut faults) = (self.all_versions(), Vec::new());
        let mut add = |what: String, change| faults.push(self.fault(Class::Precision, versions, what, change));
        if ELEMENTARY.iter().any(|name| self.is_onnx(name)) {
            add("1 % off in 16 bits".to_owned(), Change::Larger(0.01));
            add("4 % off in 16 bits".to_owned(), Change::Larger(0.04));
        }
        for (_, what, formula) in NARROW.iter().filter(|(name, ..)| self.is_onnx(name)) {
            add(format!("in 16 bits {what}"), Change::NarrowUnary(*formula));
        }
        for (_, linear) in SUMS.iter().filter(|(name, _)| self.is_onnx(name)) {
            add("accumulates in 16 bits".to_owned(), Change::Accumulates(*linear));
        }
        if self.is_onnx("GRU") || self.is_onnx("LSTM") {
            add("a hard sigmoid in 16 bits".to_owned(), Change::Custom(hard_sigmoid));
        }
        faults
    }

    /// Faults that compute a version by the text of the previous or the next one, if the meaning changed.
    fn neighbours(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for pair in self.versions.windows(2) {
            let (before, after) = (pair[0].version.since, pair[1].version.since);
            if !pair[1].changes.is_empty() {
                let swapped = |version: u32, other: u32| {
                    let what = format!("follows version {other}");
                    self.fault(Class::Version, (version, version), what, Change::AsVersion(other))
                };
                faults.push(swapped(after, before));
                faults.push(swapped(before, after));
            }
        }
        faults
    }
}

/// Returns the types that the outputs of a version may have.
fn outputs(spec: &OpSpec) -> impl Iterator<Item = &ValueType> {
    spec.outputs.iter().flat_map(|formal| spec.allowed(&formal.kind))
}

/// Runs a 16-bit recurrent cell with hard sigmoid gates, if the node sets no activations.
fn hard_sigmoid(call: &Call<'_>, kernel: &Kernel) -> Result {
    let element = call.tensor(0)?.element_type();
    if call.has("activations") || !matches!(element, ElementType::Float16 | ElementType::Bfloat16) {
        return kernel.run(call);
    }
    let mut attributes = call.attributes.clone();
    let directions = if call.optional_string("direction") == Some("bidirectional") { 2 } else { 1 };
    let activations: &[&str] =
        if call.spec.version.name == "GRU" { &["HardSigmoid", "Tanh"] } else { &["HardSigmoid", "Tanh", "Tanh"] };
    let names = activations.repeat(directions).into_iter().map(std::sync::Arc::from).collect();
    attributes.insert("activations".to_owned(), Attribute::Strings(names));
    kernel.run(&Call { attributes: &attributes, ..copy(call) })
}

/// The reason why no required case has to detect a fault.
fn undecided(fault: &Fault) -> Option<&'static str> {
    let is = |change: &str| fault.what == change;
    let reason = match fault.operator.as_str() {
        _ if is("ignores consumed_inputs") => "the specification calls it a hint for an optimizer",
        _ if is("ignores seed") => "the drawn values are not specified",
        _ if is("ignores nodes_hitrates") || is("ignores nodes_hitrates_as_tensor") => "a hint for an optimizer",
        "Conv" | "ConvInteger" | "ConvTranspose" | "DeformConv" | "QLinearConv" if is("ignores kernel_shape") => {
            "it must agree with the shape of the weights"
        }
        "GRU" | "LSTM" | "RNN" if is("ignores hidden_size") => "it must agree with the shape of the weights",
        "GRU" | "LSTM" | "RNN" if is("ignores output_sequence") => "an output that is not requested may be computed",
        "GroupNormalization" | "RMSNormalization" | "Range" if is("ignores stash_type") => {
            "a wider type than requested only makes the result more accurate"
        }
        "LinearAttention" if is("ignores chunk_size") => "a hint for an optimizer",
        "LinearClassifier" if is("ignores multi_class") => "the specification does not define its effect",
        "OneHotEncoder" if is("ignores zeros") => {
            "with zeros=0, unknown values must be refused, which cases of refusals test"
        }
        "Sign" if is("NaN becomes 0") => "the specification defines three cases, none of them for NaN",
        "StringNormalizer" if is("ignores locale") => "the locales that all machines have change case in the same way",
        "TopK" if is("ignores sorted") => "without it, any order is correct",
        _ => return None,
    };
    Some(reason)
}
