//! Printer of ONNX's text syntax, the inverse of the parser.

use std::fmt::Write as _;

use crate::model::text::print_value::{
    PrintError, Printed, decoded, element_type, elements, float, is_identifier, is_type_word, list, names,
    number_of_model, opaque_type, print_name, quoted, refusable_list, refuse, shape, tensor_type, value_name,
};
use crate::model::text::scanner::{DEEPEST, is_float_word};
use crate::proto::onnx::StringStringEntryProto;
use crate::proto::onnx::attribute_proto::AttributeType;
use crate::proto::onnx::type_proto::Value as Type;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto,
    ValueInfoProto,
};

/// Prints a model as text that [`parse_model`](super::parse_model) reads back.
///
/// Tensors have at most `max_elements` elements each. A number of a narrow floating type is printed as its bit pattern,
/// which `onnx.parser` reads, too. The output omits documentation (`doc_string` below the model and its functions,
/// `metadata_props` below the model, denotations) and the declared types of initializers, since the syntax has no place
/// for them. The elements of a tensor are read back as `raw_data`.
///
/// # Errors
/// If the syntax cannot express a part of the model: sparse and external tensors, training information, device
/// configurations, quantization annotations, names of operators and attributes that are not identifiers, strings that
/// are not UTF-8, and NaNs with a payload.
pub fn print_model(model: &ModelProto, max_elements: usize) -> Result<String, PrintError> {
    let mut printer = Printer { text: String::new(), depth: 0, max_elements };
    printer.model(model)?;
    Ok(printer.text)
}

/// Prints a node as [`print_model`] does: `Y = Concat <axis: int = 0> (A, B)`. Only subgraphs take further lines.
///
/// # Errors
/// If the syntax cannot express the node, or a tensor among its attributes has more than `max_elements` elements.
pub fn print_node(node: &NodeProto, max_elements: usize) -> Result<String, PrintError> {
    let mut printer = Printer { text: String::new(), depth: 0, max_elements };
    printer.node(node, "")?;
    Ok(printer.text)
}

fn opset_imports(imports: &[OperatorSetIdProto]) -> String {
    let print = |import: &OperatorSetIdProto| format!("{} : {}", quoted(import.domain()), import.version());
    format!("opset_import: [{}]", list(imports, print))
}

struct Printer {
    text: String,
    depth: usize,
    max_elements: usize,
}

impl Printer {
    fn model(&mut self, model: &ModelProto) -> Printed {
        for (field, is_absent) in
            [("training_info", model.training_info.is_empty()), ("configuration", model.configuration.is_empty())]
        {
            if !is_absent {
                return refuse("the model", format!("the text syntax has no `{field}`; remove it"));
            }
        }
        let mut properties: Vec<String> = Vec::new();
        properties.extend(model.ir_version.map(|version| format!("ir_version: {version}")));
        properties.push(opset_imports(&model.opset_import));
        let text = |key: &str, value: &Option<String>| value.as_ref().map(|value| format!("{key}: {}", quoted(value)));
        properties.extend(text("producer_name", &model.producer_name));
        properties.extend(text("producer_version", &model.producer_version));
        properties.extend(text("domain", &model.domain));
        properties.extend(model.model_version.map(|version| format!("model_version: {version}")));
        properties.extend(text("doc_string", &model.doc_string));
        if !model.metadata_props.is_empty() {
            let entry = |entry: &StringStringEntryProto| format!("{}: {}", quoted(entry.key()), quoted(entry.value()));
            properties.push(format!("metadata_props: [{}]", list(&model.metadata_props, entry)));
        }
        let _ = writeln!(self.text, "<{}>", properties.join(", "));
        let Some(graph) = &model.graph else { return refuse("the model", "it has no graph") };
        self.text.push_str(&print_name(graph.name()));
        self.graph_after_name(graph, "")?;
        self.text.push('\n');
        model.functions.iter().try_for_each(|function| self.function(function))
    }

    fn function(&mut self, function: &FunctionProto) -> Printed {
        let mut properties = vec![opset_imports(&function.opset_import)];
        for (key, value) in
            [("domain", &function.domain), ("overload", &function.overload), ("doc_string", &function.doc_string)]
        {
            properties.extend(value.as_ref().map(|value| format!("{key}: {}", quoted(value))));
        }
        let _ = write!(self.text, "<{}>\n{}", properties.join(", "), print_name(function.name()));
        let place = format!("function '{}'", function.name());
        let mut separator = " <";
        for name in &function.attribute {
            let _ = write!(self.text, "{separator}{}", print_name(name));
            separator = ", ";
        }
        for attribute in &function.attribute_proto {
            let _ = write!(self.text, "{separator}{}", print_name(attribute.name()));
            self.attribute_after_name(attribute, &place, "")?;
            separator = ", ";
        }
        self.text.push_str(if separator == ", " { ">" } else { "" });
        let [inputs, outputs] = [&function.input, &function.output].map(|names| list(names, |name| value_name(name)));
        let _ = write!(self.text, " ({inputs}) => ({outputs})");
        if !function.value_info.is_empty() {
            let values = refusable_list(&function.value_info, |info| self.value(info))?;
            let _ = write!(self.text, " <{values}>");
        }
        self.nodes(&function.node, "")?;
        self.text.push('\n');
        Ok(())
    }

    fn graph_after_name(&mut self, graph: &GraphProto, indent: &str) -> Printed {
        let place = || format!("graph '{}'", graph.name());
        self.enter(place)?;
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().map_or("", TensorProto::name);
            return refuse(format!("initializer '{name}'"), "the text syntax has no sparse tensors");
        }
        if !graph.quantization_annotation.is_empty() {
            return refuse(place(), "the text syntax has no `quantization_annotation`; remove it");
        }
        let inputs = refusable_list(&graph.input, |info| self.value(info))?;
        let outputs = refusable_list(&graph.output, |info| self.value(info))?;
        let _ = write!(self.text, " ({inputs}) => ({outputs})");
        let is_value = |info: &&ValueInfoProto| !graph.initializer.iter().any(|tensor| tensor.name == info.name);
        let mut values: Vec<String> =
            graph.value_info.iter().filter(is_value).map(|info| self.value(info)).collect::<Printed<_>>()?;
        for initializer in &graph.initializer {
            let place = format!("initializer '{}'", initializer.name());
            let tensor = decoded(initializer, &place)?;
            let elements = at(&place, elements(&tensor, self.max_elements, number_of_model))?;
            values.push(format!("{} {} = {elements}", tensor_type(&tensor), value_name(initializer.name())));
        }
        if !values.is_empty() {
            let _ = write!(self.text, " <{}>", values.join(", "));
        }
        self.nodes(&graph.node, indent)?;
        self.depth -= 1;
        Ok(())
    }

    fn nodes(&mut self, nodes: &[NodeProto], indent: &str) -> Printed {
        self.text.push_str(" {\n");
        let inner = format!("{indent}  ");
        for node in nodes {
            self.text.push_str(&inner);
            self.node(node, &inner)?;
            self.text.push('\n');
        }
        let _ = write!(self.text, "{indent}}}");
        Ok(())
    }

    fn node(&mut self, node: &NodeProto, indent: &str) -> Printed {
        let place = format!("operator '{}'", node.op_type());
        if !node.device_configurations().is_empty() {
            return refuse(place, "the text syntax has no `device_configurations`; remove them");
        }
        let domain = if node.domain().is_empty() { String::new() } else { format!("{}.", node.domain()) };
        let overload = if node.overload().is_empty() { String::new() } else { format!(":{}", node.overload()) };
        for part in node.domain().split('.').filter(|_| !domain.is_empty()).chain([node.op_type()]) {
            if !is_identifier(part) {
                return refuse(place, format!("'{part}' is not an identifier, as its name and domain must be"));
            }
        }
        if !overload.is_empty() && !is_identifier(node.overload()) {
            return refuse(place, format!("the overload '{}' is not an identifier", node.overload()));
        }
        if let Some(name) = &node.name {
            let _ = write!(self.text, "[{}] ", print_name(name));
        }
        let _ = write!(self.text, "{} = {domain}{}{overload}", names(&node.output), node.op_type());
        for (index, attribute) in node.attribute.iter().enumerate() {
            if !is_identifier(attribute.name()) {
                return refuse(place, format!("the attribute name '{}' is not an identifier", attribute.name()));
            }
            let _ = write!(self.text, "{}{}", if index == 0 { " <" } else { ", " }, attribute.name());
            self.attribute_after_name(attribute, &place, indent)?;
        }
        self.text.push_str(if node.attribute.is_empty() { "" } else { ">" });
        let _ = write!(self.text, " ({})", names(&node.input));
        Ok(())
    }

    /// Prints `: type = value`.
    fn attribute_after_name(&mut self, attribute: &AttributeProto, owner: &str, indent: &str) -> Printed {
        let place = format!("attribute '{}' of {owner}", attribute.name());
        let kind = attribute.r#type();
        let expected = if attribute.ref_attr_name.is_some() { AttributeType::Undefined } else { kind };
        if let Some(field) = other_value(attribute, expected) {
            return refuse(place, format!("it has a value in `{field}`, which does not fit its type"));
        }
        let word = kind.as_str_name().to_ascii_lowercase();
        if let Some(name) = &attribute.ref_attr_name {
            let declared = if kind == AttributeType::Undefined { String::new() } else { format!(": {word}") };
            let _ = write!(self.text, "{declared} = @{}", print_name(name));
            return Ok(());
        }
        if let (AttributeType::Graph, Some(graph)) = (kind, &attribute.g) {
            self.text.push_str(" = ");
            return self.subgraph(graph, &place, indent);
        }
        let _ = write!(self.text, ": {word} = ");
        if kind == AttributeType::Graphs {
            self.text.push('[');
            for (index, graph) in attribute.graphs.iter().enumerate() {
                self.text.push_str(if index == 0 { "" } else { ", " });
                self.subgraph(graph, &place, indent)?;
            }
            self.text.push(']');
            return Ok(());
        }
        let value = self.value_of(attribute, &place)?;
        self.text.push_str(&value);
        Ok(())
    }

    fn subgraph(&mut self, graph: &GraphProto, place: &str, indent: &str) -> Printed {
        let name = graph.name();
        if !is_identifier(name) || is_type_word(name) || is_float_word(name) {
            let rule = format!("'{name}' cannot name a subgraph; use an identifier that is not a type");
            return refuse(place, rule);
        }
        self.text.push_str(name);
        self.graph_after_name(graph, indent)
    }

    /// Prints a value that is not a graph.
    fn value_of(&mut self, attribute: &AttributeProto, place: &str) -> Printed<String> {
        use AttributeType as A;
        let string = |bytes: &bytes::Bytes| match std::str::from_utf8(bytes) {
            Ok(text) => Ok(quoted(text)),
            Err(_) => refuse(place, "a string is not UTF-8"),
        };
        let max = self.max_elements;
        let in_brackets = |items: Printed<String>| items.map(|items| format!("[{items}]"));
        let printed = match attribute.r#type() {
            A::Int => Ok(attribute.i().to_string()),
            A::Float => float(attribute.f()),
            A::String => string(&attribute.s.clone().unwrap_or_default()),
            A::Tensor => attributes_tensor(attribute.t.as_deref(), max),
            A::TypeProto => match &attribute.tp {
                Some(declared) => self.value_type(declared),
                None => refuse(place, "it has no value"),
            },
            A::Ints => Ok(format!("[{}]", list(&attribute.ints, i64::to_string))),
            A::Floats => in_brackets(refusable_list(&attribute.floats, |value| float(*value))),
            A::Strings => in_brackets(refusable_list(&attribute.strings, string)),
            A::Tensors => {
                in_brackets(refusable_list(&attribute.tensors, |tensor| attributes_tensor(Some(tensor), max)))
            }
            A::TypeProtos => in_brackets(refusable_list(&attribute.type_protos, |declared| self.value_type(declared))),
            A::SparseTensor | A::SparseTensors => refuse(place, "the text syntax has no sparse tensors"),
            A::Graph | A::Graphs | A::Undefined => refuse(place, "it has no type or no value"),
        };
        at(place, printed)
    }

    fn value(&mut self, info: &ValueInfoProto) -> Printed<String> {
        let name = value_name(info.name());
        match &info.r#type {
            Some(declared) => {
                Ok(format!("{} {name}", at(&format!("value '{}'", info.name()), self.value_type(declared))?))
            }
            None => Ok(name),
        }
    }

    fn value_type(&mut self, declared: &TypeProto) -> Printed<String> {
        self.enter(|| "a type".to_owned())?;
        let text = match &declared.value {
            Some(Type::TensorType(tensor)) => {
                format!("{}{}", element_type(tensor.elem_type)?, shape(tensor.shape.as_ref()))
            }
            Some(Type::SparseTensorType(tensor)) => {
                format!("sparse_tensor({}{})", element_type(tensor.elem_type)?, shape(tensor.shape.as_ref()))
            }
            Some(Type::SequenceType(sequence)) => format!("seq({})", self.inner_type(sequence.elem_type.as_deref())?),
            Some(Type::OptionalType(optional)) => {
                format!("optional({})", self.inner_type(optional.elem_type.as_deref())?)
            }
            Some(Type::MapType(map)) => {
                format!("map({}, {})", element_type(map.key_type)?, self.inner_type(map.value_type.as_deref())?)
            }
            Some(Type::OpaqueType(opaque)) => opaque_type(opaque)?,
            None => return refuse("a type", "it is empty"),
        };
        self.depth -= 1;
        Ok(text)
    }

    fn inner_type(&mut self, inner: Option<&TypeProto>) -> Printed<String> {
        inner.map_or_else(|| refuse("a type", "its element has no type"), |inner| self.value_type(inner))
    }

    fn enter(&mut self, place: impl Fn() -> String) -> Printed {
        self.depth += 1;
        if self.depth <= DEEPEST { Ok(()) } else { refuse(place(), format!("nests deeper than {DEEPEST}")) }
    }
}

/// Adds the place to an error of a part.
fn at<T>(place: &str, printed: Printed<T>) -> Printed<T> {
    printed.map_err(|error| {
        let is_inside = !error.place.is_empty() && error.place != place;
        PrintError { place: if is_inside { format!("{place}: {}", error.place) } else { place.to_owned() }, ..error }
    })
}

/// Finds a value in a field that does not belong to the type.
fn other_value(attribute: &AttributeProto, kind: AttributeType) -> Option<&'static str> {
    use AttributeType as A;
    let fields = [
        (A::Float, "f", attribute.f.is_some()),
        (A::Int, "i", attribute.i.is_some()),
        (A::String, "s", attribute.s.is_some()),
        (A::Tensor, "t", attribute.t.is_some()),
        (A::Graph, "g", attribute.g.is_some()),
        (A::SparseTensor, "sparse_tensor", attribute.sparse_tensor.is_some()),
        (A::TypeProto, "tp", attribute.tp.is_some()),
        (A::Floats, "floats", !attribute.floats.is_empty()),
        (A::Ints, "ints", !attribute.ints.is_empty()),
        (A::Strings, "strings", !attribute.strings.is_empty()),
        (A::Tensors, "tensors", !attribute.tensors.is_empty()),
        (A::Graphs, "graphs", !attribute.graphs.is_empty()),
        (A::SparseTensors, "sparse_tensors", !attribute.sparse_tensors.is_empty()),
        (A::TypeProtos, "type_protos", !attribute.type_protos.is_empty()),
    ];
    fields.into_iter().find(|(own, _, is_set)| *is_set && *own != kind).map(|(_, field, _)| field)
}

/// Prints the tensor of an attribute, with its name if it has one.
fn attributes_tensor(proto: Option<&TensorProto>, max_elements: usize) -> Printed<String> {
    let Some(proto) = proto else { return refuse("", "it has no value") };
    let place = if proto.name().is_empty() { String::new() } else { format!("tensor '{}'", proto.name()) };
    let tensor = decoded(proto, &place)?;
    let elements = at(&place, elements(&tensor, max_elements, number_of_model))?;
    let name = if proto.name().is_empty() { String::new() } else { format!("{} = ", print_name(proto.name())) };
    Ok(format!("{} {name}{elements}", tensor_type(&tensor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::{parse_model, parse_nodes};
    use crate::proto::onnx::{SparseTensorProto, TrainingInfoProto};

    #[test]
    fn a_printed_model_reads_back() {
        for text in [
            "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[2,3] X, seq(int64[]) s) => (float[] Y) {\n  \
             Y = Pad <axes: ints = [1, 2], mode: string = \"a\\\"b\\\\\", v: float = 0.5> (X, , s)\n}\n",
            "<ir_version: 8, opset_import: [\"\" : 13], producer_name: \"p\">\n\"a b\" (\"float\", x) => (y) \
             <float[2] w = {1.0, -0.0}> {\n  y = If <then_branch = t () => (z) {\n    z = Id (\"\")\n  }> \
             (x, \"a:0\")\n}\n\
             <opset_import: [\"\" : 13], domain: \"d\">\nf <k, n: int = 3> (x) => (y) \
             {\n  [l] y = d.e.Op:v <k: int = @k> (x)\n}\n",
            "<ir_version: 10, opset_import: [\"\" : 21]>\ng () => (float16[2] y) <float16[2] w = {15360, 49152}> {\n  \
             k = Constant <value: tensor = bfloat16 {16256}> ()\n  y = Identity (w)\n}\n",
        ] {
            assert_eq!(print_model(&parse_model(text).unwrap(), 64).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_printed_node_reads_back() {
        for text in ["y = Id (x)", "Y = Pad <axes: ints = [1, 2], mode: string = \"a\"> (X, , s)"] {
            let nodes = parse_nodes(text).unwrap();
            assert_eq!(print_node(&nodes[0], 64).as_deref(), Ok(text));
        }
        let long = parse_nodes("y = Op <t = float[3] {1, 2, 3}> (x)").unwrap();
        assert!(print_node(&long[0], 2).unwrap_err().to_string().contains("3 elements"));
    }

    /// Refuses to print `y = Op <a = 1> (x)` after a change, for this reason.
    fn refuses(change: impl Fn(&mut ModelProto), expected: &str) {
        let text = "<ir_version: 10> g (x) => (y) { y = Op <a = 1, t = float[2] {1, 2}> (x) }";
        let mut model = parse_model(text).unwrap();
        change(&mut model);
        let error = print_model(&model, 2).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_part_without_text_is_refused_by_name() {
        let external = vec![StringStringEntryProto { key: Some("location".to_owned()), value: Some("f".to_owned()) }];
        refuses(
            |model| {
                let tensor = TensorProto {
                    name: Some("w".to_owned()),
                    external_data: external.clone(),
                    ..TensorProto::default()
                };
                model.graph.as_mut().unwrap().initializer.push(tensor);
            },
            "initializer 'w': its data is external; load it first",
        );
        refuses(
            |model| {
                let values = TensorProto { name: Some("w".to_owned()), ..TensorProto::default() };
                let sparse = SparseTensorProto { values: Some(values), ..SparseTensorProto::default() };
                model.graph.as_mut().unwrap().sparse_initializer.push(sparse);
            },
            "initializer 'w': the text syntax has no sparse tensors",
        );
        refuses(
            |model| model.training_info.push(TrainingInfoProto::default()),
            "the model: the text syntax has no `training_info`; remove it",
        );
        refuses(|model| model.graph = None, "the model: it has no graph");
    }

    #[test]
    fn a_node_without_text_is_refused_by_name() {
        let node = |change: fn(&mut NodeProto)| {
            move |model: &mut ModelProto| change(&mut model.graph.as_mut().unwrap().node[0])
        };
        refuses(
            node(|node| node.op_type = Some("a b".into())),
            "operator 'a b': 'a b' is not an identifier, as its name and domain must be",
        );
        refuses(
            node(|node| node.attribute[0].s = Some("s".into())),
            "attribute 'a' of operator 'Op': it has a value in `s`, which does not fit its type",
        );
        refuses(
            node(|node| {
                node.attribute[0] =
                    AttributeProto { s: Some(vec![255].into()), i: None, r#type: Some(3), ..node.attribute[0].clone() }
            }),
            "attribute 'a' of operator 'Op': a string is not UTF-8",
        );
        refuses(
            node(|node| {
                let nodes = parse_nodes("y = Op <t = int8[3] {1, 2, 3}> ()").unwrap();
                node.attribute[1].t = nodes[0].attribute[0].t.clone();
            }),
            "attribute 't' of operator 'Op': it has 3 elements, more than 2",
        );
        refuses(
            node(|node| {
                node.attribute[0] = AttributeProto {
                    g: Some(Box::new(GraphProto::default())),
                    i: None,
                    r#type: Some(5),
                    ..node.attribute[0].clone()
                }
            }),
            "attribute 'a' of operator 'Op': '' cannot name a subgraph; use an identifier that is not a type",
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let mut graph = GraphProto { name: Some("g".to_owned()), ..GraphProto::default() };
        for _ in 0..DEEPEST {
            let attribute = AttributeProto {
                name: Some("a".to_owned()),
                r#type: Some(5),
                g: Some(Box::new(graph)),
                ..AttributeProto::default()
            };
            let node = NodeProto { op_type: Some("Op".into()), attribute: vec![attribute], ..NodeProto::default() };
            graph = GraphProto { name: Some("g".to_owned()), node: vec![node], ..GraphProto::default() };
        }
        let model = ModelProto { graph: Some(graph), ..ModelProto::default() };
        assert!(print_model(&model, 0).unwrap_err().rule.contains("nests deeper"));
    }
}
