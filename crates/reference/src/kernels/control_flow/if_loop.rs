//! `If`, `Loop`, `SequenceMap`: subgraphs that run conditionally, repeatedly, or per item.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::control_flow::scan_outputs::ScanOutputs;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::{Dim, Graph, Parameter};
use crate::tensor::Tensor;
use crate::types::ValueType;
use crate::value::{Optional, Sequence, Value};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("If", 1, |call| run_branch(call, true)).shape(rules::not_inferred),
    Kernel::new("If", 11, |call| run_branch(call, false)).shape(rules::not_inferred),
    Kernel::new("Loop", 1, repeat).shape(rules::not_inferred),
    Kernel::new("SequenceMap", 17, map).shape(rules::not_inferred),
];

/// If: the outputs of one of two branches. Both must declare the same number of outputs with the same types and, before
/// version 11, the same shapes.
fn run_branch(call: &Call<'_>, same_shapes: bool) -> Result {
    let (yes, no) = (call.graph("then_branch")?, call.graph("else_branch")?);
    check_branches(call, yes, no, same_shapes)?;
    let branch = if single_bool(call.tensor(0)?, "the condition").rule("C5")? { yes } else { no };
    call.outputs_of_body(call.run(branch, Vec::new())?.into())
}

fn check_branches(call: &Call<'_>, yes: &Graph, no: &Graph, same_shapes: bool) -> Result<(), KernelError> {
    let (then_count, else_count, wanted) = (yes.outputs.len(), no.outputs.len(), call.output_count());
    if then_count != else_count || wanted > then_count {
        return Err(broken(
            "C4",
            format!(
                "then_branch has {then_count} outputs, else_branch {else_count} and the node {wanted}; they must agree"
            ),
        ));
    }
    let differ = |(yes, no): &(&Parameter, &Parameter)| {
        let types = yes.value_type.as_ref().zip(no.value_type.as_ref()).is_some_and(|(yes, no)| yes != no);
        types || (same_shapes && fixed_shape(yes).zip(fixed_shape(no)).is_some_and(|(yes, no)| yes != no))
    };
    match yes.outputs.iter().zip(&no.outputs).find(differ) {
        Some((yes, no)) => Err(broken(
            "C6",
            format!("output '{}' of then_branch and '{}' of else_branch are declared differently", yes.name, no.name),
        )),
        None => Ok(()),
    }
}

/// Returns the declared shape if every size is a number.
fn fixed_shape(parameter: &Parameter) -> Option<Vec<usize>> {
    let size = |dim: &Dim| match dim {
        Dim::Size(size) => Some(*size),
        Dim::Name(_) | Dim::Sum(_) | Dim::Unknown => None,
    };
    parameter.shape.as_ref()?.iter().map(size).collect()
}

fn single_bool(tensor: &Tensor, what: &str) -> Result<bool, KernelError> {
    let one = || invalid(format!("{what} has shape {:?}; it must have one element", tensor.shape()));
    tensor.single_integer().map(|value| value != 0).ok_or_else(one)
}

/// Loop: runs the body until the condition is false or the trip count is reached. Either may be omitted.
///
/// The body takes the iteration number, the condition and the carried values. It returns the next condition, the next
/// carried values, and values to stack along a new first axis.
fn repeat(call: &Call<'_>) -> Result {
    let body = call.graph("body")?;
    let (trips, condition) = (trip_count(call)?, call.optional_tensor(1)?);
    let mut carried = (2..call.inputs.len()).map(|index| call.value(index).cloned()).collect::<Result<Vec<Value>>>()?;
    let mut stacks = stacks(call, body, carried.len())?;
    let mut continues = condition.map_or(Ok(true), |condition| single_bool(condition, "the condition"))?;
    let mut trip = 0;
    while (continues || condition.is_none()) && trips.is_none_or(|trips| trip < trips) {
        check_iteration(call, trip)?;
        let inputs = [
            Value::from(call.integers(ElementType::Int64, &[], [i128::from(trip)])?),
            Value::from(call.integers(ElementType::Bool, &[], [i128::from(continues)])?),
        ];
        let states = carried
            .drain(..)
            .zip(body.inputs.iter().skip(2))
            .map(|(value, declared)| wrap_as_declared(value, declared));
        let mut outputs = call.run(body, inputs.into_iter().chain(states).collect())?.into_iter();
        let next = outputs.next().ok_or_else(|| invalid("the body returns no condition"))?;
        continues = match &next {
            Value::Tensor(next) => single_bool(next, "the condition that the body returns")?,
            other => return Err(invalid(format!("the condition that the body returns is {other}, not tensor(bool)"))),
        };
        carried.extend(outputs.by_ref().take(body.inputs.len().saturating_sub(2)));
        for (stack, value) in stacks.iter_mut().zip(outputs) {
            stack.push(value).rule("C7")?;
        }
        trip += 1;
    }
    let mut outputs: Vec<Option<Value>> = carried.into_iter().map(Some).collect();
    for stack in stacks {
        let wanted = call.wants(outputs.len());
        outputs.push(if wanted { Some(stack.join(call, 0)?.into()) } else { None });
    }
    call.outputs_of_body(Outputs(outputs))
}

/// Wraps the value in an optional if the body declares its input as one, though its output is plain.
fn wrap_as_declared(value: Value, declared: &Parameter) -> Value {
    match &declared.value_type {
        Some(ValueType::Optional(item_type)) if **item_type == value.value_type() => {
            Value::Optional(Optional { item_type: (**item_type).clone(), item: Some(Arc::new(value)) })
        }
        _ => value,
    }
}

/// Returns the maximum number of iterations, or `None` if it is not set. A negative number means zero.
fn trip_count(call: &Call<'_>) -> Result<Option<u64>, KernelError> {
    let Some(count) = call.optional_tensor(0)? else { return Ok(None) };
    let one = || invalid(format!("the trip count has shape {:?}; it must be a scalar", count.shape()));
    Ok(Some(u64::try_from(count.single_integer().ok_or_else(one)?.max(0)).unwrap_or(u64::MAX)))
}

/// Returns one stack per output of the body after the condition and the carried values.
fn stacks<'a>(call: &Call<'_>, body: &'a Graph, carried: usize) -> Result<Vec<ScanOutputs<'a>>, KernelError> {
    let (inputs, outputs, wanted) = (body.inputs.len(), body.outputs.len(), call.output_count());
    if inputs != carried + 2 || outputs <= carried || wanted >= outputs {
        return Err(broken(
            "C6",
            format!(
                "with {carried} carried values and {wanted} outputs, the body must take {} inputs and return at \
                 least {} outputs; this one has {inputs} and {outputs}",
                carried + 2,
                wanted.max(carried) + 1
            ),
        ));
    }
    Ok(body.outputs.iter().skip(carried + 1).map(ScanOutputs::new).collect())
}

fn check_iteration(call: &Call<'_>, trip: u64) -> Result<(), KernelError> {
    call.budget.check_time()?;
    let max = call.budget.limits().trips;
    if trip < max { Ok(()) } else { Err(KernelError::Limit(format!("the loop is over the limit of {max} iterations"))) }
}

/// `SequenceMap`: runs the body for each item of the first sequence, with the matching item of every other sequence and
/// with whole tensors. Each output is collected in a sequence.
fn map(call: &Call<'_>) -> Result {
    let body = call.graph("body")?;
    let count = call.sequence(0)?.items.len();
    let inputs = (0..call.inputs.len()).map(|index| call.value(index)).collect::<Result<Vec<_>>>()?;
    let other_length = inputs.iter().find(|input| matches!(input, Value::Sequence(s) if s.items.len() != count));
    if let Some(other) = other_length {
        return Err(broken(
            "C1",
            format!("the first sequence has {count} items, but another is {other}; all must have the same length"),
        ));
    }
    if call.output_count() != body.outputs.len() {
        let (wanted, given) = (call.output_count(), body.outputs.len());
        return Err(broken("C3", format!("the node has {wanted} outputs, but the body returns {given}")));
    }
    if inputs.len() != body.inputs.len() {
        let (given, taken) = (inputs.len(), body.inputs.len());
        return Err(broken("C3", format!("the node has {given} inputs, but the body takes {taken}")));
    }
    let item = |input: &Value, index: usize| match input {
        Value::Sequence(sequence) => sequence.items.get(index).cloned(),
        other => Some(other.clone()),
    };
    let mut collected: Vec<Vec<Value>> = body.outputs.iter().map(|_| Vec::new()).collect();
    for index in 0..count {
        call.budget.check_time()?;
        let arguments = inputs.iter().filter_map(|input| item(input, index)).collect();
        for (items, value) in collected.iter_mut().zip(call.run(body, arguments)?) {
            items.push(value);
        }
    }
    let sequences = body.outputs.iter().zip(collected).map(|(declared, items)| collect(declared, items));
    call.outputs_of_body(sequences.collect::<Result<Vec<Value>, _>>()?.into())
}

/// Builds a sequence of an output of the body. Its type comes from the items or, if there are none, from the
/// declaration.
fn collect(declared: &Parameter, items: Vec<Value>) -> Result<Value, KernelError> {
    let name = &declared.name;
    let first = items.first().map(Value::value_type);
    let Some(item_type @ ValueType::Tensor(_)) = first.or_else(|| declared.value_type.clone()) else {
        return Err(invalid(format!(
            "output '{name}' of the body must be a tensor, and must be declared as one if there are no items"
        )));
    };
    match items.iter().find(|item| item.value_type() != item_type) {
        Some(other) => Err(invalid(format!(
            "output '{name}' of the body is {item_type} for the first item, but a later one is {other}"
        ))),
        None => Ok(Value::Sequence(Sequence::new(item_type, items))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::RunError;
    use crate::testing::{floats, ints, run_text, typed};

    fn run(opset: i64, graph: &str, inputs: &[(&str, Tensor)]) -> Result<Vec<Value>, RunError> {
        let inputs: Vec<(&str, Value)> = inputs.iter().map(|(name, value)| (*name, value.clone().into())).collect();
        run_text(&format!("<ir_version: 8, opset_import: [\"\" : {opset}]> {graph}"), &inputs)
    }

    fn tensors(outputs: &[Value]) -> Vec<Vec<f64>> {
        outputs.iter().filter_map(Value::as_tensor).map(Tensor::floats).collect()
    }

    fn true_condition() -> Tensor {
        typed(ElementType::Bool, &[], &[1.0])
    }

    #[test]
    fn branches_of_different_shapes_are_refused_below_version_11() {
        let model = "g (bool c) => (float[] y) { y = If <
            then_branch = t () => (float[2] a) { a = Constant <value = float[2] {1, 2}> () },
            else_branch = e () => (float[1, 2] b) { b = Constant <value = float[1, 2] {3, 4}> () }> (c) }";
        assert!(run(1, model, &[("c", true_condition())]).is_err());
    }

    #[test]
    fn a_body_gives_types_that_the_version_allows() {
        let branch = "() => (seq(float[]) a) { a = SequenceEmpty () }";
        let model = format!(
            "g (bool c) => (seq(float[]) y) {{ y = If <then_branch = t {branch}, else_branch = e {branch}> (c) }}"
        );
        let error = run(12, &model, &[("c", true_condition())]).unwrap_err().to_string();
        assert!(error.contains("If-11 has no output of type seq(tensor(float))"), "{error}");
        assert!(run(13, &model, &[("c", true_condition())]).is_ok());
        let model = "g (int64 m) => (seq(float[]) y) { y = Loop <
            body = b (int64 i, bool before, int64 k) => (bool after, seq(float[]) list) {
                after = Identity (before)
                list = SequenceEmpty () }> (m, , m) }";
        let error = run(12, model, &[("m", ints(&[], &[1]))]).unwrap_err().to_string();
        assert!(error.contains("Loop-11 has no output of type seq(tensor(float))"), "{error}");
    }

    #[test]
    fn empty_names_at_the_end_of_a_variadic_input_say_nothing() {
        let model = "g (float[N] x) => (float[] y, seq(float[]) s) {
            y = Einsum <equation = \"i->i\"> (x, , )
            s = SequenceConstruct (x, , ) }";
        let outputs = run(13, model, &[("x", floats(&[2], &[1.0, 2.0]))]).unwrap();
        assert_eq!(
            (tensors(&outputs), outputs[1].to_string()),
            (vec![vec![1.0, 2.0]], "seq(tensor(float)) of 1 items".to_owned())
        );
        for inputs in ["m, c, v", "m, c, v, "] {
            assert_eq!(doubled(inputs).unwrap()[0], [4.0], "({inputs})");
        }
    }

    /// Doubles `v`, and stacks the iteration number, until the doubled value is 8 or more.
    const DOUBLING: &str = "g (int64 m, bool c, float v) => (float last, int64[] trips) { last, trips = Loop <
        body = b (int64 i, bool before, float x) => (bool after, float twice, int64 trip) {
            twice = Add (x, x)
            limit = Constant <value = float {8}> ()
            after = Less (twice, limit)
            trip = Identity (i) }> (INPUTS) }";

    /// Returns the outputs for some of these inputs: 2 trips, a true condition, and a value of 1.
    fn doubled(inputs: &str) -> Result<Vec<Vec<f64>>, RunError> {
        let model = DOUBLING.replace("INPUTS", inputs);
        let inputs = [("m", ints(&[], &[2])), ("c", true_condition()), ("v", floats(&[], &[1.0]))];
        run(16, &model, &inputs).map(|outputs| tensors(&outputs))
    }

    #[test]
    fn an_endless_loop_exceeds_the_limit_of_iterations() {
        let error = doubled(", , v").unwrap_err().to_string();
        assert!(error.contains("over the limit of 1000 iterations"), "{error}");
    }

    #[test]
    fn no_iterations_give_stacks_of_the_declared_type_and_rank() {
        let model = "g (int64[] m) => (float16[] y) { y = Loop <
            body = b (int64 i, bool before) => (bool after, float16[3, N] part) {
                after = Identity (before)
                part = Constant <value = float16[3, 1] {0, 0, 0}> () }> (m,) }";
        let outputs = run(11, model, &[("m", ints(&[], &[0]))]).unwrap();
        let y = outputs[0].as_tensor().unwrap();
        assert_eq!((y.element_type(), y.shape()), (ElementType::Float16, &[0, 3, 0][..]));
        let outputs = run(11, model, &[("m", ints(&[1], &[2]))]).unwrap();
        assert_eq!(outputs[0].as_tensor().unwrap().shape(), [2, 3, 1]);
    }

    #[test]
    fn stacked_parts_must_keep_their_shape() {
        let model = "g (int64 m, float[N] v) => (float[] w, float[] y) { w, y = Loop <
            body = b (int64 i, bool before, float[] x) => (bool after, float[] longer, float[] part) {
                after = Identity (before)
                longer = Concat <axis = 0> (x, x)
                part = Identity (x) }> (m, , v) }";
        let inputs = [("m", ints(&[], &[2])), ("v", floats(&[1], &[1.0]))];
        let error = run(13, model, &inputs).unwrap_err().to_string();
        assert!(
            error.contains("tensor(float)[1] in the first iteration and tensor(float)[2] in a later one"),
            "{error}"
        );
    }
}
