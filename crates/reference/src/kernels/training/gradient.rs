//! Gradient: reverse-mode differentiation of the graph around a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Missing, broken, invalid, unsupported};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::training::second_order::{expansions, listed};
use crate::kernels::training::shapes;
use crate::model::{Attribute, Node};
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[Kernel::in_domain("ai.onnx.preview.training", "Gradient", 1, gradient)
    .shapes_of_all(shapes::like_inputs)
    .typed(shapes::type_like_position)];

/// Derivative of an output element with respect to each input.
enum Derivative {
    /// One input. A function of the input and the output.
    Unary(fn(f64, f64) -> f64),
    /// Two inputs that broadcast.
    Binary(fn(f64, f64) -> (f64, f64)),
    /// Any number of inputs that broadcast, with a derivative of 1 for each.
    Sum,
}

/// Operators of the default domain that can be differentiated.
const DERIVATIVES: &[(&str, Derivative)] = &[
    ("Abs", Derivative::Unary(|x, _| if x == 0.0 { 0.0 } else { x.signum() })),
    ("Add", Derivative::Binary(|_, _| (1.0, 1.0))),
    ("Cos", Derivative::Unary(|x, _| -libm::sin(x))),
    ("Div", Derivative::Binary(|a, b| (1.0 / b, -a / (b * b)))),
    ("Exp", Derivative::Unary(|_, y| y)),
    ("Identity", Derivative::Unary(|_, _| 1.0)),
    ("Log", Derivative::Unary(|x, _| 1.0 / x)),
    ("Mul", Derivative::Binary(|a, b| (b, a))),
    ("Neg", Derivative::Unary(|_, _| -1.0)),
    ("Reciprocal", Derivative::Unary(|_, y| -y * y)),
    ("Relu", Derivative::Unary(|x, _| if x > 0.0 { 1.0 } else { 0.0 })),
    ("Sigmoid", Derivative::Unary(|_, y| y * (1.0 - y))),
    ("Sin", Derivative::Unary(|x, _| libm::cos(x))),
    ("Sqrt", Derivative::Unary(|_, y| 0.5 / y)),
    ("Sub", Derivative::Binary(|_, _| (1.0, -1.0))),
    ("Sum", Derivative::Sum),
    ("Tanh", Derivative::Unary(|_, y| 1.0 - y * y)),
];

/// Gradient: the derivative of the sum of `y` with respect to each of `xs`. The inputs are the values of `xs`, then of
/// `zs`.
fn gradient(call: &Call<'_>) -> Result {
    let xs = call.optional_strings("xs").unwrap_or_default();
    let zs = call.optional_strings("zs").unwrap_or_default();
    let y = call.string("y")?;
    let inputs = call.tensors(0)?;
    if y.is_empty() || xs.iter().chain(&zs).any(|name| name.is_empty()) {
        return Err(invalid("xs, zs and y must name values; one of the names is empty"));
    }
    if inputs.len() != xs.len() + zs.len() {
        let (found, expected) = (inputs.len(), xs.len() + zs.len());
        return Err(broken("C3", format!("there are {found} inputs for the {expected} names of xs and zs")));
    }
    if call.wanted.len() > xs.len() {
        let (wanted, named) = (call.wanted.len(), xs.len());
        return Err(invalid(format!("there are {wanted} outputs for the {named} names of xs")));
    }
    let names: Vec<&str> = xs.iter().chain(&zs).map(|name| &**name).collect();
    let graph = call.subgraphs.enclosing();
    let shape = inputs.first().map(|input| input.shape());
    let has_one_shape = inputs.iter().all(|input| Some(input.shape()) == shape);
    let expansions = if has_one_shape { expansions(graph, &names) } else { Vec::new() };
    let values = names.iter().zip(&inputs).map(|(&name, &input)| (name, Value::Tensor(input.clone()))).collect();
    let mut tape = Tape {
        call,
        nodes: listed(graph, &expansions),
        values,
        active: xs.iter().map(|name| &**name).collect(),
        slopes: BTreeMap::new(),
    };
    let nodes = tape.nodes_between(y)?;
    for &node in &nodes {
        tape.forward(node)?;
    }
    let ones = tape.tensor(y)?;
    tape.slopes.insert(y, std::iter::repeat_n(1.0, ones.len()).collect());
    for &node in nodes.iter().rev() {
        tape.backward(node)?;
    }
    let outputs = xs.iter().zip(inputs).map(|(name, x)| tape.output(name, x)).collect::<Result<Vec<_>>>()?;
    Ok(outputs.into())
}

/// Values of the differentiated part of the graph, and the derivative of the result by each.
struct Tape<'a> {
    call: &'a Call<'a>,
    /// The nodes of the graph. Graphs that compute derivatives replace a Gradient, where this is possible.
    nodes: Vec<&'a Node>,
    values: BTreeMap<&'a str, Value>,
    /// Values that depend on one of `xs`.
    active: BTreeSet<&'a str>,
    slopes: BTreeMap<&'a str, Vec<f64>>,
}

impl<'a> Tape<'a> {
    /// Returns the nodes that compute `y` from the given values, in order.
    fn nodes_between(&self, y: &'a str) -> Result<Vec<&'a Node>> {
        let graph = self.call.subgraphs.enclosing();
        let mut needed = BTreeSet::from([y]);
        let mut nodes = Vec::new();
        for &node in self.nodes.iter().rev() {
            let computed = node.outputs.iter().filter(|name| needed.remove(name.as_str()));
            if computed.filter(|name| !self.values.contains_key(name.as_str())).count() > 0 {
                nodes.push(node);
                needed.extend(node.inputs.iter().map(String::as_str).filter(|name| !name.is_empty()));
            }
        }
        let given = |name: &str| self.values.contains_key(name) || graph.initializers.contains_key(name);
        if let Some(name) = needed.into_iter().find(|name| !given(name)) {
            return Err(invalid(format!(
                "'{y}' depends on '{name}', which is neither in xs nor in zs, nor computed from them"
            )));
        }
        nodes.reverse();
        Ok(nodes)
    }

    fn value(&self, name: &str) -> Result<&Value> {
        let initializers = &self.call.subgraphs.enclosing().initializers;
        let missing = || invalid(format!("'{name}' has no value here; its node omits it"));
        self.values.get(name).or_else(|| initializers.get(name)).ok_or_else(missing)
    }

    fn tensor(&self, name: &str) -> Result<Tensor> {
        let value = self.value(name)?;
        value.as_tensor().cloned().ok_or_else(|| invalid(format!("'{name}' is {value}, which has no derivative")))
    }

    /// Computes a node's outputs.
    fn forward(&mut self, node: &'a Node) -> Result<()> {
        let active = node.inputs.iter().any(|name| self.active.contains(name.as_str()));
        let reaches_out =
            node.op_type == "Gradient" || node.attributes.values().any(|value| !value.graphs().is_empty());
        if reaches_out || (active && derivative(node).is_none()) {
            return Err(no_derivative(node));
        }
        let input = |name: &String| match name.as_str() {
            "" => Ok(None),
            name => self.value(name).cloned().map(Some),
        };
        let inputs = node.inputs.iter().map(input).collect::<Result<_>>()?;
        let outputs = self.call.subgraphs.apply(node, inputs)?;
        for (name, value) in node.outputs.iter().zip(outputs.0).filter(|(name, _)| !name.is_empty()) {
            self.values.extend(value.map(|value| (name.as_str(), value)));
            if active {
                self.active.insert(name);
            }
        }
        Ok(())
    }

    /// Propagates the slope of a node's output to its inputs.
    fn backward(&mut self, node: &'a Node) -> Result<()> {
        let Some(output) = node.outputs.first() else { return Ok(()) };
        if !self.active.contains(output.as_str()) {
            return Ok(());
        }
        let Some(slope) = self.slopes.remove(output.as_str()) else { return Ok(()) };
        let y = self.tensor(output)?;
        let inputs = node.inputs.iter().map(|name| self.tensor(name)).collect::<Result<Vec<_>>>()?;
        check_broadcast(node, &inputs, &y)?;
        self.call.budget.count_work(slope.len().saturating_mul(inputs.len()))?;
        let budget = self.call.budget.nested();
        let values = inputs.iter().map(|input| budget.read_floats(input)).collect::<Result<Vec<_>>>()?;
        let walk = |index: usize| {
            inputs.get(index).map(|input| StridedIter::broadcast(input.shape(), y.shape())).into_iter().flatten()
        };
        let element =
            |index: usize, position: usize| values.get(index).and_then(|v| v.get(position)).copied().unwrap_or(0.0);
        let each: Vec<Vec<f64>> = match derivative(node) {
            Some(Derivative::Unary(rule)) => {
                let factors = walk(0).zip(y.stream(Tensor::floats)).map(|(position, y)| rule(element(0, position), y));
                vec![budget.collect(factors)?]
            }
            Some(Derivative::Binary(rule)) => {
                let pairs = || walk(0).zip(walk(1)).map(|(a, b)| rule(element(0, a), element(1, b)));
                vec![budget.collect(pairs().map(|(a, _)| a))?, budget.collect(pairs().map(|(_, b)| b))?]
            }
            Some(Derivative::Sum) => {
                inputs.iter().map(|_| budget.collect(slope.iter().map(|_| 1.0))).collect::<Result<_>>()?
            }
            None => return Err(no_derivative(node)),
        };
        for (index, (name, factors)) in node.inputs.iter().zip(each).enumerate() {
            if !self.active.contains(name.as_str()) {
                continue;
            }
            let length = inputs.get(index).map_or(0, Tensor::len);
            if !self.slopes.contains_key(name.as_str()) {
                self.slopes.insert(name, self.call.budget.scratch(length)?);
            }
            let Some(total) = self.slopes.get_mut(name.as_str()) else { continue };
            for ((position, factor), slope) in walk(index).zip(factors).zip(&slope) {
                if let Some(total) = total.get_mut(position) {
                    *total += factor * slope;
                }
            }
        }
        Ok(())
    }

    /// Returns the derivative by one of `xs`, or zeros if the result does not depend on it.
    fn output(&self, name: &Arc<str>, x: &Tensor) -> Result<Tensor> {
        let element = x.element_type();
        if !matches!(element, ElementType::Float16 | ElementType::Float | ElementType::Double) {
            return Err(invalid(format!(
                "'{name}' in xs is {element}; only float16, float and double have a derivative"
            )));
        }
        match self.slopes.get(&**name) {
            Some(slope) => self.call.floats(element, x.shape(), slope.iter().copied()),
            None => self.call.floats(element, x.shape(), std::iter::repeat_n(0.0, x.len())),
        }
    }
}

fn derivative(node: &Node) -> Option<&'static Derivative> {
    let known = DERIVATIVES.iter().find(|(name, _)| *name == node.op_type);
    known.filter(|_| node.domain.is_empty()).map(|(_, derivative)| derivative)
}

fn no_derivative(node: &Node) -> KernelError {
    let names: Vec<&str> = DERIVATIVES.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    unsupported(
        Missing::Attribute,
        format!("the derivative of {}, {node}, is not supported; those of {names} are", node.op_type),
    )
}

/// Refuses inputs that do not broadcast from the last axis, as versions below 7 allow.
fn check_broadcast(node: &Node, inputs: &[Tensor], y: &Tensor) -> Result<()> {
    let shape = inputs.iter().try_fold(Vec::new(), |shape, input| broadcast(&shape, input.shape()));
    let otherwise = matches!(node.attributes.get("broadcast"), Some(Attribute::Int(1..)));
    match shape {
        Ok(shape) if shape == y.shape() && !otherwise => Ok(()),
        _ => Err(unsupported(
            Missing::Attribute,
            format!("the derivative of {node} with broadcasting along an axis is not supported"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{RunError, run};
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::model::{Graph, Model, Opsets, Parameter};
    use crate::testing::floats;

    fn node(domain: &str, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Node {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let (inputs, outputs) = (names(inputs), names(outputs));
        let (domain, op_type) = (domain.to_owned(), op_type.to_owned());
        Node {
            name: String::new(),
            op_type,
            domain,
            overload: String::new(),
            inputs,
            outputs,
            attributes: BTreeMap::new(),
        }
    }

    /// Returns the derivatives of `y` by `xs` in a graph of these nodes. Every input has its own name and value.
    fn derive(
        nodes: &[(&str, &[&str], &str)],
        xs: &[&str],
        inputs: &[(&str, Tensor)],
    ) -> Result<Vec<Tensor>, RunError> {
        const TRAINING: &str = "ai.onnx.preview.training";
        let mut nodes: Vec<Node> = nodes.iter().map(|(op, inputs, output)| node("", op, inputs, &[output])).collect();
        let outputs: Vec<String> = xs.iter().map(|x| format!("d{x}")).collect();
        let zs: Vec<&str> = inputs.iter().map(|(name, _)| *name).filter(|name| !xs.contains(name)).collect();
        let mut gradient = node(TRAINING, "Gradient", &[xs, &zs].concat(), &[]);
        gradient.outputs.clone_from(&outputs);
        gradient.attributes = BTreeMap::from([
            ("xs".to_owned(), xs.into()),
            ("zs".to_owned(), zs[..].into()),
            ("y".to_owned(), "y".into()),
        ]);
        nodes.push(gradient);
        let parameter = |name: &str| Parameter { name: name.to_owned(), value_type: None, shape: None };
        let graph = Graph {
            name: "test".to_owned(),
            inputs: inputs.iter().map(|(name, _)| parameter(name)).collect(),
            outputs: outputs.iter().map(|name| parameter(name)).collect(),
            initializers: BTreeMap::new(),
            last_uses: nodes.iter().map(|_| Vec::new()).collect(),
            nodes,
        };
        let opsets = Opsets(BTreeMap::from([(String::new(), 14), (TRAINING.to_owned(), 1)]));
        let model = Model { ir_version: 10, opsets, functions: BTreeMap::new(), graph, bytes: 0 };
        let inputs = inputs.iter().map(|(name, value)| ((*name).to_owned(), Value::Tensor(value.clone()))).collect();
        let outputs = run(&model, inputs, ExecutionLimits::default())?;
        Ok(outputs.iter().filter_map(|value| value.as_tensor().cloned()).collect())
    }

    #[test]
    fn each_rule_is_the_limit_of_small_steps() {
        for (op, derivative) in DERIVATIVES {
            let x = 0.75;
            let expected = match *op {
                "Abs" | "Identity" | "Relu" => 1.0,
                "Neg" => -1.0,
                "Cos" => -libm::sin(x),
                "Sin" => libm::cos(x),
                "Exp" => libm::exp(x),
                "Log" => 1.0 / x,
                "Reciprocal" => -1.0 / (x * x),
                "Sqrt" => 0.5 / x.sqrt(),
                "Sigmoid" => libm::exp(-x) / ((1.0 + libm::exp(-x)) * (1.0 + libm::exp(-x))),
                "Tanh" => 1.0 / (libm::cosh(x) * libm::cosh(x)),
                _ => continue,
            };
            assert!(matches!(derivative, Derivative::Unary(_)));
            let found = derive(&[(op, &["x"], "y")], &["x"], &[("x", floats(&[1], &[x]))]).unwrap();
            assert!((found[0].floats()[0] - expected).abs() < 1e-6, "{op} gave {:?}, not {expected}", found[0]);
        }
        let inputs = [("a", floats(&[], &[6.0])), ("b", floats(&[], &[2.0]))];
        for (op, expected) in [("Sub", [1.0, -1.0]), ("Div", [0.5, -1.5]), ("Sum", [1.0, 1.0])] {
            let found = derive(&[(op, &["a", "b"], "y")], &["a", "b"], &inputs).unwrap();
            assert_eq!([found[0].floats()[0], found[1].floats()[0]], expected, "{op}");
        }
    }

    #[test]
    fn names_must_be_of_values() {
        let inputs = [("a", floats(&[1], &[1.0])), ("", floats(&[1], &[1.0]))];
        let error = derive(&[("Identity", &["a"], "y")], &["a"], &inputs).expect_err("a name in zs is empty");
        assert!(error.to_string().contains("one of the names is empty"), "{error}");
    }

    #[test]
    fn other_operators_are_named() {
        let inputs = [("a", floats(&[1], &[1.0]))];
        let refused = derive(&[("Floor", &["a"], "y")], &["a"], &inputs).expect_err("Floor has no derivative here");
        assert!(refused.is_unsupported() && refused.to_string().contains("the derivative of Floor"), "{refused}");
        let unknown = derive(&[("Floor", &["a"], "z")], &["a"], &inputs).expect_err("there is no y");
        assert!(unknown.to_string().contains("'y' depends on 'y'"), "{unknown}");
    }
}
