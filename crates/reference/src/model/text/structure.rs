//! Nodes, graphs, functions and models.

use super::attribute::{attribute, attributes};
use super::literal::{next_is_type, string_pairs, tensor, value_type};
use super::scanner::{Scanner, TextError};
use crate::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto, ValueInfoProto, texts,
};

/// Reads a model: `<ir_version: 10, opset_import: ["" : 21]> name (inputs) => (outputs) { nodes }` and functions.
pub fn parse_model(text: &str) -> Result<ModelProto, TextError> {
    whole(text, model)
}

/// Reads a graph: `name (inputs) => (outputs) { nodes }`.
pub fn parse_graph(text: &str) -> Result<GraphProto, TextError> {
    whole(text, graph)
}

/// Reads a function: `<domain: "d", opset_import: ["" : 21]> name <attributes> (inputs) => (outputs) { nodes }`.
pub fn parse_function(text: &str) -> Result<FunctionProto, TextError> {
    whole(text, function)
}

/// Reads nodes: `y = Add (a, b)`, one after another.
pub fn parse_nodes(text: &str) -> Result<Vec<NodeProto>, TextError> {
    whole(text, |scanner| {
        let mut nodes = Vec::new();
        while scanner.peek().is_some() {
            nodes.push(node(scanner)?);
        }
        Ok(nodes)
    })
}

/// Reads a type with its shape: `seq(float[N, 3])`.
pub fn parse_value_type(text: &str) -> Result<TypeProto, TextError> {
    whole(text, value_type)
}

fn whole<'a, T>(text: &'a str, parse: impl Fn(&mut Scanner<'a>) -> Result<T, TextError>) -> Result<T, TextError> {
    let mut scanner = Scanner::new(text);
    let parsed = parse(&mut scanner)?;
    scanner.expect_end()?;
    Ok(parsed)
}

fn model(scanner: &mut Scanner<'_>) -> Result<ModelProto, TextError> {
    let mut model = ModelProto::default();
    properties(scanner, |scanner, key| {
        match key {
            "ir_version" => model.ir_version = Some(scanner.integer("a version")?),
            "opset_import" => model.opset_import = opset_imports(scanner)?,
            "producer_name" => model.producer_name = Some(scanner.string("a string in quotes")?),
            "producer_version" => model.producer_version = Some(scanner.string("a string in quotes")?),
            "domain" => model.domain = Some(scanner.string("a string in quotes")?),
            "model_version" => model.model_version = Some(scanner.integer("a version")?),
            "doc_string" => model.doc_string = Some(scanner.string("a string in quotes")?),
            "metadata_props" => {
                scanner.expect('[')?;
                model.metadata_props = string_pairs(scanner)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    model.graph = Some(graph(scanner)?);
    while scanner.peek().is_some() {
        model.functions.push(function(scanner)?);
    }
    Ok(model)
}

/// Parses `<key: value, ...>`, which is optional. `set` returns true if it knows the key.
fn properties<'a>(
    scanner: &mut Scanner<'a>,
    mut set: impl FnMut(&mut Scanner<'a>, &str) -> Result<bool, TextError>,
) -> Result<(), TextError> {
    if !scanner.take('<') {
        return Ok(());
    }
    loop {
        let place = scanner.place();
        let key = scanner.identifier("the name of a property, such as opset_import")?;
        scanner.expect(':')?;
        if !set(scanner, key)? {
            return Err(scanner.error_at(place, &format!("unknown property '{key}'")));
        }
        if !scanner.take(',') {
            return scanner.expect('>');
        }
    }
}

/// Parses `["domain" : version, ...]`.
fn opset_imports(scanner: &mut Scanner<'_>) -> Result<Vec<OperatorSetIdProto>, TextError> {
    scanner.expect('[')?;
    let mut imports = Vec::new();
    while !scanner.take(']') {
        if !imports.is_empty() {
            scanner.expect(',')?;
        }
        let domain = scanner.string("a domain in quotes")?;
        scanner.expect(':')?;
        imports.push(OperatorSetIdProto { domain: Some(domain), version: Some(scanner.integer("a version")?) });
    }
    Ok(imports)
}

fn function(scanner: &mut Scanner<'_>) -> Result<FunctionProto, TextError> {
    let mut function = FunctionProto::default();
    properties(scanner, |scanner, key| {
        match key {
            "opset_import" => function.opset_import = opset_imports(scanner)?,
            "domain" => function.domain = Some(scanner.string("a string in quotes")?),
            "overload" => function.overload = Some(scanner.string("a string in quotes")?),
            "doc_string" => function.doc_string = Some(scanner.string("a string in quotes")?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    function.name = Some(scanner.name("the name of a function")?);
    if scanner.take('<') {
        loop {
            let name = scanner.name("the name of an attribute")?;
            match scanner.peek() {
                Some(':' | '=') => function.attribute_proto.push(attribute(scanner, name)?),
                _ => function.attribute.push(name),
            }
            if !scanner.take(',') {
                break;
            }
        }
        scanner.expect('>')?;
    }
    let inputs = plain_values(scanner, '(', ')')?;
    scanner.expect_arrow()?;
    let outputs = plain_values(scanner, '(', ')')?;
    let names = |values: &[ValueInfoProto]| values.iter().filter_map(|value| value.name.clone()).collect();
    (function.input, function.output) = (names(&inputs), names(&outputs));
    function.value_info = inputs.into_iter().chain(outputs).filter(|value| value.r#type.is_some()).collect();
    if scanner.peek() == Some('<') {
        function.value_info.extend(plain_values(scanner, '<', '>')?);
    }
    function.node = nodes(scanner)?;
    Ok(function)
}

pub(super) fn graph(scanner: &mut Scanner<'_>) -> Result<GraphProto, TextError> {
    scanner.enter()?;
    let mut graph = GraphProto { name: Some(scanner.name("the name of a graph")?), ..GraphProto::default() };
    let (inputs, defaults) = values(scanner, '(', ')')?;
    graph.input = inputs;
    graph.initializer = defaults;
    scanner.expect_arrow()?;
    graph.output = plain_values(scanner, '(', ')')?;
    if scanner.peek() == Some('<') {
        let (values, initializers) = values(scanner, '<', '>')?;
        let is_initializer = |value: &ValueInfoProto| initializers.iter().any(|tensor| tensor.name == value.name);
        graph.value_info = values.into_iter().filter(|value| !is_initializer(value)).collect();
        graph.initializer.extend(initializers);
    }
    graph.node = nodes(scanner)?;
    scanner.leave();
    Ok(graph)
}

/// Parses a list of `type name` with optional types.
fn plain_values(scanner: &mut Scanner<'_>, open: char, close: char) -> Result<Vec<ValueInfoProto>, TextError> {
    let place = scanner.place();
    match values(scanner, open, close)? {
        (values, tensors) if tensors.is_empty() => Ok(values),
        _ => Err(scanner.error_at(place, "only inputs and initializers of a graph have initial values")),
    }
}

/// Parses a list of `type name = {values}`, in which only the name is required. Entries with values are returned as
/// tensors, too.
fn values(
    scanner: &mut Scanner<'_>,
    open: char,
    close: char,
) -> Result<(Vec<ValueInfoProto>, Vec<TensorProto>), TextError> {
    scanner.expect(open)?;
    let (mut values, mut tensors) = (Vec::new(), Vec::new());
    while !scanner.take(close) {
        if !values.is_empty() {
            scanner.expect(',')?;
        }
        let declared = if next_is_type(scanner) { Some(value_type(scanner)?) } else { None };
        let name = scanner.name("the name of a value")?;
        if scanner.take('=') {
            tensors.push(tensor(scanner, name.clone(), &declared.clone().unwrap_or_default())?);
        }
        values.push(ValueInfoProto { name: Some(name), r#type: declared, ..ValueInfoProto::default() });
    }
    Ok((values, tensors))
}

fn nodes(scanner: &mut Scanner<'_>) -> Result<Vec<NodeProto>, TextError> {
    scanner.expect('{')?;
    let mut nodes = Vec::new();
    while !scanner.take('}') {
        nodes.push(node(scanner)?);
    }
    Ok(nodes)
}

/// Parses `[label] outputs = domain.Operator:overload <attributes> (inputs)`; the attributes may also come last.
fn node(scanner: &mut Scanner<'_>) -> Result<NodeProto, TextError> {
    let mut node = NodeProto::default();
    if scanner.take('[') {
        node.name = scanner.take_name()?.map(Into::into);
        scanner.expect(']')?;
    }
    node.output = texts(names(scanner)?);
    scanner.expect('=')?;
    let mut operator = scanner.identifier("an operator")?;
    let mut domain = String::new();
    while scanner.take('.') {
        domain = if domain.is_empty() { operator.to_owned() } else { format!("{domain}.{operator}") };
        operator = scanner.identifier("an operator")?;
    }
    node.domain = (!domain.is_empty()).then(|| domain.into());
    node.op_type = Some(operator.into());
    if scanner.take(':') {
        node.rare_mut().overload = Some(scanner.identifier("an overload")?.into());
    }
    node.attribute = attributes(scanner)?;
    scanner.expect('(')?;
    node.input = texts(names(scanner)?);
    scanner.expect(')')?;
    if node.attribute.is_empty() {
        node.attribute = attributes(scanner)?;
    }
    Ok(node)
}

/// Parses names separated by commas. A missing name is the empty name; a trailing comma is ignored.
fn names(scanner: &mut Scanner<'_>) -> Result<Vec<String>, TextError> {
    let mut names = Vec::new();
    loop {
        let name = scanner.take_name()?;
        if !scanner.take(',') {
            names.extend(name);
            return Ok(names);
        }
        names.push(name.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ElementType;
    use crate::proto::decode::{self, NoExternalData};
    use crate::proto::onnx::tensor_shape_proto::dimension::Value as Dim;
    use crate::proto::onnx::type_proto::Value as Type;
    use crate::types::ValueType;

    fn node(text: &str) -> NodeProto {
        parse_nodes(text).unwrap_or_else(|error| panic!("{error} of {text}")).remove(0)
    }

    /// Returns the elements of a tensor written as attribute `t`.
    fn elements(tensor: &str) -> Vec<f64> {
        let node = node(&format!("y = Op <t = {tensor}> ()"));
        let proto = node.attribute[0].t.as_deref().unwrap();
        decode::tensor(proto, &NoExternalData).unwrap_or_else(|error| panic!("{error} of {tensor}")).floats()
    }

    #[test]
    fn a_model_has_properties_a_graph_and_functions() {
        let model = parse_model(
            r#"<ir_version: 10, opset_import: ["" : 21, "local" : 1], producer_name: "a \"b\"", metadata_props: ["k": "v"]>
            g (float[N, ?, 3] x, seq(int64[]) s = ["location": "file"]) => (optional(float) y)
            <float w = {1.5}, int64[2] v> { # a comment
                y = local.f <a = 2> (x, w)
            }
            <domain: "local", opset_import: ["" : 21]>
            f <a, b: float = 1> (x, float w) => (y) { y = Add (x, w) }"#,
        );
        let error = model.unwrap_err();
        assert!(error.rule.contains("needs an element type and a shape of numbers"), "{error}");
        let model = parse_model(
            r#"<ir_version: 10, opset_import: ["" : 21, "local" : 1], producer_name: "a \"b\"", metadata_props: ["k": "v"]>
            g (float[N, ?, 3] x, seq(int64[]) s) => (optional(float) y)
            <float w = {1.5}, int64[2] v> { # a comment
                y = local.f:over <a = 2> (x, w)
            }
            <domain: "local", opset_import: ["" : 21], overload: "over">
            f <a, b: float = 1> (x, float w) => (y) { y = Add (x, w) }"#,
        );
        let model = model.unwrap();
        assert_eq!((model.ir_version, model.producer_name()), (Some(10), "a \"b\""));
        let graph = model.graph.unwrap();
        let Some(Type::TensorType(x)) = graph.input[0].r#type.clone().and_then(|x| x.value) else {
            panic!("{graph:?}")
        };
        let dims: Vec<_> = x.shape.unwrap_or_default().dim.into_iter().map(|dim| dim.value).collect();
        assert_eq!(dims, [Some(Dim::DimParam("N".to_owned())), None, Some(Dim::DimValue(3))]);
        let sequence = decode::value_type(graph.input[1].r#type.as_ref().unwrap()).unwrap();
        assert_eq!(sequence, ValueType::Sequence(Box::new(ValueType::Tensor(ElementType::Int64))));
        assert_eq!((graph.initializer[0].name(), graph.value_info[0].name()), ("w", "v"));
        assert_eq!((graph.node[0].domain(), graph.node[0].op_type(), graph.node[0].overload()), ("local", "f", "over"));
        let function = &model.functions[0];
        assert_eq!((&function.attribute[..], function.attribute_proto[0].f), (&["a".to_owned()][..], Some(1.0)));
        assert_eq!((&function.input[..], function.value_info[0].name()), (&["x".to_owned(), "w".to_owned()][..], "w"));
    }

    #[test]
    fn nodes_name_their_values_with_and_without_quotes() {
        let rows: [(&str, &[&str], &[&str]); 6] = [
            ("y = Op (x)", &["y"], &["x"]),
            ("\"y:0\", z = Op (\"a/b\", , x)", &["y:0", "z"], &["a/b", "", "x"]),
            ("= Op ()", &[], &[]),
            ("y = Op (x,)", &["y"], &["x"]),
            ("y = Op (,x)", &["y"], &["", "x"]),
            ("[\"a label\"] y = Op (\"\")", &["y"], &[""]),
        ];
        for (text, outputs, inputs) in rows {
            let node = node(text);
            assert_eq!(
                (&node.output[..], &node.input[..]),
                (&texts(outputs.iter().copied())[..], &texts(inputs.iter().copied())[..]),
                "{text}"
            );
        }
        assert_eq!(node("[l] y = a.b.Op (x) <k = 1>").domain(), "a.b");
    }

    #[test]
    fn attributes_take_the_type_of_their_value_or_a_declared_one() {
        let node = node(
            "y = Op <i = 1, f = -1e3, s = \"t\", is = [1, 2], fs: floats = [1, 2.5], none: strings = [], r = @outer, \
             q: int = @outer, u: undefined = @outer, t: float = 3, nan = nan, tp = seq(float[2]), ts = [int8 {1}, int8 {2}], \
             g = body (x) => (y) { y = Identity (x) }> (x)",
        );
        let kinds: Vec<Option<i32>> = node.attribute.iter().map(|attribute| attribute.r#type).collect();
        let expected = [2, 1, 3, 7, 6, 8, 0, 2, 0, 1, 1, 13, 9, 5].map(|kind| (kind > 0).then_some(kind));
        assert_eq!(kinds, expected);
        let by_name = |name: &str| node.attribute.iter().find(|attribute| attribute.name() == name).unwrap();
        assert_eq!(
            (by_name("f").f, by_name("t").f, &by_name("fs").floats[..]),
            (Some(-1000.0), Some(3.0), &[1.0, 2.5][..])
        );
        assert_eq!((by_name("r").ref_attr_name(), by_name("ts").tensors.len()), ("outer", 2));
        assert_eq!(by_name("g").g.as_deref().unwrap().node[0].op_type(), "Identity");
    }

    #[test]
    fn tensors_hold_values_of_their_type() {
        let rows: [(&str, &[f64]); 9] = [
            ("float {0.5}", &[0.5]),
            ("float[2] {1, -inf}", &[1.0, f64::NEG_INFINITY]),
            ("int64[0] {}", &[]),
            ("int4[3] = {1, -2, 7}", &[1.0, -2.0, 7.0]),
            ("float16[2] name = {15360, 0.5}", &[1.0, 0.5]),
            ("bool[2] {1, 0}", &[1.0, 0.0]),
            ("uint64 {18446744073709551615}", &[18_446_744_073_709_551_615.0]),
            ("complex64 {1, 2}", &[1.0]),
            ("double {1e300}", &[1e300]),
        ];
        for (text, values) in rows {
            assert_eq!(elements(text), values, "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        let rows = [
            ("y = Op <t = float[3] {1, 2}> ()", 13 + 9, "does not match the 2 values"),
            ("y = Op <t = int8 {300}> ()", 19, "300 is not a value of int8"),
            ("y = Op <t = float16 {-1}> ()", 22, "not a pattern of 16 bits"),
            ("y = Op <t = float {1e40}> ()", 20, "exceeds the largest float"),
            ("y = Op <a = [1, 2.0]> ()", 17, "the type is INT, but the value is FLOAT"),
            ("y = Op <a = []> ()", 11, "needs a type"),
            ("y = Op <a: int = [1]> ()", 10, "the type of a list"),
            ("y = Op <a: number = 1> ()", 12, "'number' is not an attribute type"),
            ("y = Op <> (x)", 9, "expected the name of an attribute"),
            ("y = Op <a = 99999999999999999999> (x)", 13, "does not fit 64 bits"),
            ("Op (x)", 4, "expected '=', found '('"),
            ("y = Op (x", 10, "expected ')', found the end of the text"),
            ("y = Op (x) )", 12, "expected '=', found ')'"),
        ];
        for (text, column, rule) in rows {
            let error = parse_nodes(text).unwrap_err();
            assert!(error.rule.contains(rule) && error.column == column, "{text}: {error}");
        }
        for text in ["g (float x) = > (y) {}", "g (x) => (float y = {1}) {}", "g (x) => (y) {", "g (x) => (y) {} more"]
        {
            assert!(parse_graph(text).is_err(), "{text} was taken");
        }
        assert!(parse_value_type(&"seq(".repeat(100_000)).is_err());
        assert!(parse_model("<ir_version: 7, colour: \"red\"> g () => () {}").is_err());
    }
}
