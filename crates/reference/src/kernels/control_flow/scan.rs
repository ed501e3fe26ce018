//! Scan: runs a body over slices of tensors and carries states along.

use crate::infer::rules;
use crate::kernels::control_flow::scan_outputs::{ScanOutputs, slice};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::Graph;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Scan", 8, scan_batches).shape(rules::not_inferred),
    Kernel::new("Scan", 9, |call| scan(call, Axes::NonNegative)).shape(rules::not_inferred),
    Kernel::new("Scan", 11, |call| scan(call, Axes::Any)).shape(rules::not_inferred),
];

/// Axes that the attributes may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axes {
    NonNegative,
    /// Negative ones as well, which count from the back.
    Any,
}

/// Body of a node, with its states and scanned tensors.
struct Scan<'a> {
    body: &'a Graph,
    states: Vec<&'a Tensor>,
    inputs: Vec<ScanInput<'a>>,
}

struct ScanInput<'a> {
    tensor: &'a Tensor,
    axis: usize,
    backward: bool,
}

impl<'a> Scan<'a> {
    /// Splits the inputs from `from` on. `directions` is the attribute with a flag per scanned tensor.
    fn from_call(call: &Call<'a>, from: usize, directions: &str) -> Result<Scan<'a>, KernelError> {
        let body = call.graph("body")?;
        let tensors = call.tensors(from)?;
        let count = call.int("num_scan_inputs")?;
        let scanned =
            usize::try_from(count).ok().filter(|count| (1..=tensors.len()).contains(count)).ok_or_else(|| {
                invalid(format!(
                    "num_scan_inputs is {count}; it must be from 1 to {}, the number of inputs",
                    tensors.len()
                ))
            })?;
        let (states, inputs) = tensors.split_at(tensors.len() - scanned);
        let backward = flags(call, directions, scanned)?;
        let inputs = inputs.iter().zip(backward);
        let inputs = inputs.map(|(&tensor, backward)| ScanInput { tensor, axis: 0, backward });
        let scan = Scan { body, states: states.to_vec(), inputs: inputs.collect() };
        let (takes, gives, wanted) = (body.inputs.len(), body.outputs.len(), call.output_count());
        if takes != tensors.len() || gives < scan.states.len() || wanted > gives {
            return Err(broken(
                "C7",
                format!(
                    "the body must take {} inputs and return at least {} outputs; this one has {takes} and {gives}",
                    tensors.len(),
                    wanted.max(scan.states.len())
                ),
            ));
        }
        Ok(scan)
    }

    /// Returns the length that all scanned tensors share along their axes.
    fn length(&self) -> Result<usize, KernelError> {
        let mut lengths = self.inputs.iter().map(|input| input.tensor.shape().get(input.axis).copied());
        let first = lengths.next().flatten();
        match first {
            Some(length) if lengths.all(|other| other == first) => Ok(length),
            _ => {
                let shapes: Vec<&[usize]> = self.inputs.iter().map(|input| input.tensor.shape()).collect();
                Err(broken(
                    "C5",
                    format!("the scanned tensors have shapes {shapes:?}; their scan axes must have the same length"),
                ))
            }
        }
    }

    /// Runs `length` iterations from the given states. Returns the final states, and a stack per remaining output of
    /// the body.
    fn run(
        &self,
        call: &Call<'_>,
        mut states: Vec<Value>,
        length: usize,
    ) -> Result<(Vec<Value>, Vec<ScanOutputs<'a>>), KernelError> {
        let count = states.len();
        let mut stacks: Vec<ScanOutputs<'a>> = self.body.outputs.iter().skip(count).map(ScanOutputs::new).collect();
        for trip in 0..length {
            call.budget.check_time()?;
            let mut inputs = states.clone();
            for input in &self.inputs {
                let index = if input.backward { length - 1 - trip } else { trip };
                inputs.push(slice(call, input.tensor, input.axis, index)?.into());
            }
            let mut outputs = call.run(self.body, inputs)?.into_iter();
            let next: Vec<Value> = outputs.by_ref().take(count).collect();
            check_states(&states, &next)?;
            states = next;
            for (stack, value) in stacks.iter_mut().zip(outputs) {
                stack.push(value).rule("C6")?;
            }
        }
        Ok((states, stacks))
    }
}

/// Checks that every state keeps its type and shape.
fn check_states(before: &[Value], after: &[Value]) -> Result<(), KernelError> {
    let same = |(before, after): &(&Value, &Value)| match (before.as_tensor(), after.as_tensor()) {
        (Some(before), Some(after)) => (before.element_type(), before.shape()) == (after.element_type(), after.shape()),
        _ => false,
    };
    match before.iter().zip(after).enumerate().find(|(_, pair)| !same(pair)) {
        Some((index, (before, after))) => Err(broken(
            "C6",
            format!("state {index} is {before} and becomes {after}; no iteration may change its type or shape"),
        )),
        None => Ok(()),
    }
}

/// Returns a list of `count` flags, each 0 or 1. If the attribute is omitted, all are 0.
fn flags(call: &Call<'_>, name: &str, count: usize) -> Result<Vec<bool>, KernelError> {
    let flags = per_item(call, name, count)?;
    match flags.iter().find(|flag| !matches!(flag, 0 | 1)) {
        Some(flag) => Err(invalid(format!("attribute {name} contains {flag}; each entry must be 0 or 1"))),
        None => Ok(flags.into_iter().map(|flag| flag == 1).collect()),
    }
}

fn per_item(call: &Call<'_>, name: &str, count: usize) -> Result<Vec<i64>, KernelError> {
    match call.optional_ints(name) {
        Some(values) if values.len() != count => {
            Err(broken("C2", format!("attribute {name} has {} values; it must have {count}", values.len())))
        }
        Some(values) => Ok(values.to_vec()),
        None => Ok((0..count).map(|_| 0).collect()),
    }
}

/// Returns the axes in an attribute, one per item, `count` in all.
fn axes(call: &Call<'_>, name: &str, count: usize, allowed: Axes) -> Result<Vec<i64>, KernelError> {
    let axes = per_item(call, name, count)?;
    match axes.iter().find(|&&axis| axis < 0 && allowed == Axes::NonNegative) {
        Some(axis) => {
            Err(invalid(format!("attribute {name} contains {axis}; negative axes are allowed from Scan-11 on")))
        }
        None => Ok(axes),
    }
}

/// Scan since version 9: no batches, an axis per scanned tensor and per stacked output, and directions for both.
fn scan(call: &Call<'_>, allowed: Axes) -> Result {
    let mut scan = Scan::from_call(call, 0, "scan_input_directions")?;
    let input_axes = axes(call, "scan_input_axes", scan.inputs.len(), allowed)?;
    for (input, axis) in scan.inputs.iter_mut().zip(input_axes) {
        input.axis = normalize_axis(axis, input.tensor.rank()).rule("C8")?;
    }
    let stacked = scan.body.outputs.len() - scan.states.len();
    let output_axes = axes(call, "scan_output_axes", stacked, allowed)?;
    let prepend = flags(call, "scan_output_directions", stacked)?;
    let states = scan.states.iter().map(|&state| Value::from(state.clone())).collect();
    let (mut outputs, stacks) = scan.run(call, states, scan.length()?)?;
    for ((mut stack, axis), prepend) in stacks.into_iter().zip(output_axes).zip(prepend) {
        if prepend {
            stack.reverse();
        }
        outputs.push(stack.join(call, axis)?.into());
    }
    call.outputs_of_body(outputs.into())
}

/// Scan in version 8: every tensor has batch axis 0, and scanned ones sequence axis 1. Each batch may have its own
/// length. The outputs after it are unspecified; here they are zeros. A backward scan of a short sequence starts at its
/// own end.
fn scan_batches(call: &Call<'_>) -> Result {
    let batched = Scan::from_call(call, 1, "directions")?;
    let tensors = || batched.states.iter().copied().chain(batched.inputs.iter().map(|input| input.tensor));
    let batches = tensors().map(|tensor| tensor.shape().first().copied()).collect::<Option<Vec<usize>>>();
    let batch_count = match batches.as_deref() {
        Some([first, rest @ ..]) if rest.iter().all(|other| other == first) => *first,
        _ => {
            let shapes: Vec<&[usize]> = tensors().map(Tensor::shape).collect();
            return Err(broken(
                "C5",
                format!("the inputs have shapes {shapes:?}; the first dimension of all must be the same batch size"),
            ));
        }
    };
    let along = |input: &ScanInput<'_>| input.tensor.shape().get(1).copied();
    let Some(longest) = batched.inputs.first().and_then(along) else {
        return Err(invalid("a scanned tensor must have a batch axis and a sequence axis"));
    };
    let lengths = sequence_lengths(call, batch_count, longest)?;
    let mut results: Vec<ScanOutputs<'_>> = batched.body.outputs.iter().map(ScanOutputs::new).collect();
    for (batch, length) in lengths.into_iter().enumerate() {
        let part = |tensor: &Tensor| slice(call, tensor, 0, batch);
        let states = batched.states.iter().map(|&state| part(state).map(Value::from)).collect::<Result<Vec<_>, _>>()?;
        let inputs = batched.inputs.iter().map(|input| part(input.tensor)).collect::<Result<Vec<_>, _>>()?;
        let inputs = inputs.iter().zip(&batched.inputs);
        let inputs = inputs.map(|(tensor, input)| ScanInput { tensor, axis: 0, backward: input.backward }).collect();
        let scan = Scan { body: batched.body, states: Vec::new(), inputs };
        scan.length()?;
        let (states, stacks) = scan.run(call, states, length)?;
        let stacked = stacks.into_iter().map(|stack| stack.padded(call, 0, longest).map(Value::from));
        for (result, value) in results.iter_mut().zip(states.into_iter().map(Ok).chain(stacked)) {
            result.push(value?).rule("C6")?;
        }
    }
    let joined = results.into_iter().map(|stack| stack.join(call, 0));
    call.outputs_of_body(joined.collect::<Result<Vec<Tensor>, _>>()?.into())
}

/// Returns the length of each batch's sequence.
fn sequence_lengths(call: &Call<'_>, batches: usize, longest: usize) -> Result<Vec<usize>, KernelError> {
    let Some(lengths) = call.optional_tensor(0)? else {
        return Ok((0..batches).map(|_| longest).collect());
    };
    let mismatch = || {
        let lengths = Value::from(lengths.clone());
        broken("C1", format!("sequence_lens is {lengths}; it must be {batches} lengths from 0 to {longest}"))
    };
    if lengths.shape() != [batches] {
        return Err(mismatch());
    }
    let length = |value: i64| usize::try_from(value).ok().filter(|&length| length <= longest).ok_or_else(mismatch);
    call.budget.read_indices(lengths)?.into_iter().map(length).collect()
}

#[cfg(test)]
mod tests {
    use crate::executor::RunError;
    use crate::tensor::Tensor;
    use crate::testing::{floats, ints, run_text};
    use crate::value::Value;

    /// Adds the slices of `x` to the state and stacks the partial sums.
    fn sums(opset: i64, attributes: &str, inputs: &str, values: &[(&str, Tensor)]) -> Result<Vec<Tensor>, RunError> {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : {opset}]>
            g (int64[] lengths, float[] s, float[] x) => (float[] last, float[] all) {{ last, all = Scan <
                num_scan_inputs = 1 {attributes},
                body = b (float[] before, float[] part) => (float[] after, float[] sum) {{
                    after = Add (before, part)
                    sum = Identity (after) }}> ({inputs}) }}"
        );
        let unused = [("lengths", ints(&[0], &[])), ("s", floats(&[0], &[])), ("x", floats(&[0], &[]))];
        let value = |(name, default): &(&'static str, Tensor)| {
            let given = values.iter().find(|(given, _)| given == name);
            (*name, Value::from(given.map_or(default, |(_, value)| value).clone()))
        };
        let outputs = run_text(&text, &unused.iter().map(value).collect::<Vec<_>>())?;
        Ok(outputs.iter().filter_map(Value::as_tensor).cloned().collect())
    }

    #[test]
    fn invalid_axes_directions_and_states_are_refused() {
        let inputs = [("s", floats(&[2], &[0.0, 0.0])), ("x", floats(&[3, 2], &[1.0; 6]))];
        for (opset, attributes) in
            [(9, ", scan_output_axes = [-1]"), (11, ", scan_output_axes = [2]"), (11, ", scan_input_directions = [2]")]
        {
            assert!(sums(opset, attributes, "s, x", &inputs).is_err(), "{attributes} was taken");
        }
        let grows = [("s", floats(&[1], &[0.0])), inputs[1].clone()];
        let error = sums(9, "", "s, x", &grows).unwrap_err().to_string();
        assert!(error.contains("state 0 is tensor(float)[1] and becomes tensor(float)[2]"), "{error}");
    }

    #[test]
    fn version_8_leaves_zeros_behind_a_short_sequence() {
        let inputs = [
            ("lengths", ints(&[2], &[1, 3])),
            ("s", floats(&[2, 1], &[0.0, 100.0])),
            ("x", floats(&[2, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ];
        for (attributes, expected) in
            [("", [1.0, 0.0, 0.0, 104.0, 109.0, 115.0]), (", directions = [1]", [1.0, 0.0, 0.0, 106.0, 111.0, 115.0])]
        {
            let outputs = sums(8, attributes, "lengths, s, x", &inputs).unwrap();
            assert_eq!((outputs[1].shape(), outputs[1].floats()), (&[2, 3, 1][..], expected.to_vec()), "{attributes}");
        }
    }
}
