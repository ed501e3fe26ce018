//! Names: those that end a C string, confuse a terminal or a path, and names of extreme length.

use onnx_conformance_reference::proto::ModelProto;

use crate::hostile::draft::{
    Answer, Attack, Draft, DraftResult, first_node, first_weight, floats, graph, negation, nodes, shape, valid_model,
    weight,
};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "value_of_a_megabyte",
        says: "the name of a value of 1 MiB, which is valid",
        make: || value(&"v".repeat(1 << 20)),
    },
    Attack {
        name: "node_of_a_megabyte",
        says: "the name of a node of 1 MiB, which is valid",
        make: || node(&"n".repeat(1 << 20)),
    },
    Attack {
        name: "operator_of_a_megabyte",
        says: "an operator whose name has 1 MiB",
        make: || operator(&"O".repeat(1 << 20), ""),
    },
    Attack {
        name: "domain_of_a_megabyte",
        says: "an operator whose domain has 1 MiB",
        make: || operator("Neg", &"d".repeat(1 << 20)),
    },
    Attack {
        name: "documentation_of_a_megabyte",
        says: "a documentation of 1 MiB, which is valid",
        make: || negation()?.changed(|model| model.doc_string = Some("d".repeat(1 << 20))).answered(),
    },
    Attack {
        name: "two_values_alike_up_to_a_null",
        says: "two values whose names differ behind a null character",
        make: || {
            let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { a = Neg (x) b = Abs (x) y = Sub (a, b) }"#;
            let valid =
                valid_model(text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[-2.0, 0.0]))])?;
            valid.changed(|model| rename(model, &[("a", "v\0a"), ("b", "v\0b")])).answered()
        },
    },
    Attack { name: "value_with_a_null", says: "a null character in the name of a value", make: || value("a\0b") },
    Attack {
        name: "value_with_control_characters",
        says: "escape sequences in the name of a value, which a terminal obeys",
        make: || value("\u{1b}[2J\u{1b}]0;owned\u{7}\r\n"),
    },
    Attack {
        name: "node_that_is_a_path",
        says: "a node called ../../../../tmp/onnx-conformance-hostile, which may become a file's name",
        make: || node("../../../../tmp/onnx-conformance-hostile"),
    },
    Attack { name: "node_that_is_a_format", says: "a node called %s%n%s%n", make: || node("%s%n%s%n%s%n%x%x") },
    Attack {
        name: "operator_that_is_a_format",
        says: "an unknown operator called %s%n%s%n, which a message repeats",
        make: || operator("%s%n%s%n%s%n{0}{1}", ""),
    },
    Attack {
        name: "operator_of_control_characters",
        says: "an unknown operator called by escape sequences, which a message repeats",
        make: || operator("\u{1b}[2J\u{1b}]0;owned\u{7}\r\n", ""),
    },
    Attack {
        name: "operator_that_is_a_library",
        says: "an operator of the domain ../../../../tmp/evil.so",
        make: || operator("Neg", "../../../../tmp/evil.so"),
    },
    Attack {
        name: "value_that_is_no_utf8",
        says: "a name of bytes that are no UTF-8",
        make: || in_bytes(|bytes| replaced(&bytes, b"between", b"\xff\xfe\xc0\x80\xed\xa0\x80")),
    },
    Attack {
        name: "operator_that_is_no_utf8",
        says: "an operator whose name is no UTF-8",
        make: || negation()?.refused_as(|bytes| replaced(&bytes, b"Neg", b"\xff\xfe\xc0")),
    },
    Attack {
        name: "string_that_is_no_utf8",
        says: "a tensor of a string that is no UTF-8",
        make: || strings("y = Identity (w) n = Shape (y)", b"\xff\xfe\xc0\x80"),
    },
    Attack {
        name: "string_that_is_no_utf8_in_lower_case",
        says: "a string that is no UTF-8 in lower case",
        make: || {
            strings(
                r#"y = StringNormalizer <case_change_action = "LOWER"> (w) n = Shape (y)"#,
                b"A\xff\xfe\xc0\x80\xf8",
            )
        },
    },
    Attack {
        name: "string_that_is_no_utf8_split",
        says: "a string that is no UTF-8 split into words",
        make: || strings("y, z = StringSplit (w) n = Shape (z)", b"a \xff\xfe \xc0"),
    },
    Attack {
        name: "string_that_is_no_utf8_matched",
        says: "a string that is no UTF-8 matched by a pattern",
        make: || strings(r#"y = RegexFullMatch <pattern = "a.*"> (w) n = Shape (y)"#, b"a\xff\xfe\xc0"),
    },
    Attack {
        name: "string_torn_within_a_character",
        says: "a string that ends within a character of 4 bytes, in upper case",
        make: || strings(r#"y = StringNormalizer <case_change_action = "UPPER"> (w) n = Shape (y)"#, b"ab\xf0\x9f"),
    },
    Attack {
        name: "initializers_of_one_name",
        says: "two initializers of one name, the second of which is longer",
        make: || {
            weight()?.refused(|model| {
                let mut second = graph(model).initializer.first().cloned().unwrap_or_default();
                second.dims = vec![1 << 10];
                second.float_data.clear();
                second.raw_data = Some(vec![0; 4 << 10].into());
                graph(model).initializer.push(second);
            })
        },
    },
    Attack {
        name: "values_of_one_name",
        says: "two nodes that make values of one name, of different types",
        make: || {
            let text = |second: &str| {
                format!(
                    "a = Constant <value = float[2] {{1, 2}}> () {second} = Constant <value = int64[9] {{1, 2, 3, 4, 5, 6, 7, 8, 9}}> () y = Shape (a)"
                )
            };
            nodes(&text("b"), ("y", "int64[1]", shape(&[2])))?.refused_for(&text("a"))
        },
    },
    Attack {
        name: "outputs_of_one_name",
        says: "a node whose two outputs have one name",
        make: || {
            let text = |second: &str| {
                format!(
                    "x = Constant <value = float[2] {{1, 2}}> () k = Constant <value = int64[1] {{1}}> () a, {second} = TopK (x, k) y = Shape (a)"
                )
            };
            nodes(&text("b"), ("y", "int64[1]", shape(&[1])))?.refused_for(&text("a"))
        },
    },
    Attack {
        name: "functions_of_one_name",
        says: "two functions of one name, of different inputs",
        make: || {
            let head = r#"<domain: "f", opset_import: ["" : 15]>"#;
            let text = format!(
                r#"<ir_version: 8, opset_import: ["" : 15, "f" : 1]> g (float[2] x) => (float[2] y) {{ y = f.a (x) }}
                   {head} a (x) => (y) {{ y = Neg (x) }} {head} b (x, z) => (y) {{ y = Add (x, z) }}"#
            );
            let valid =
                valid_model(&text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[-1.0, 2.0]))])?;
            valid.refused(|model| {
                model.functions.iter_mut().for_each(|function| function.name = Some("a".to_owned()));
            })
        },
    },
];

/// A model with this name for a value between two nodes.
fn value(name: &str) -> DraftResult {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { a = Neg (x) y = Neg (a) }"#;
    let valid = valid_model(text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[1.0, -2.0]))])?;
    valid.changed(|model| rename(model, &[("a", name)])).answered()
}

/// A model with a value `between` two nodes, with changed bytes.
fn in_bytes(change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> DraftResult {
    let Draft { model, inputs, .. } = value("between")?;
    Ok(Draft { model: change(model.into()).into(), inputs, answer: Answer::Any, files: None })
}

/// Replaces all occurrences of some bytes by as many others.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(from.len() - 1) {
        if let Some(part) = bytes.get_mut(at..at + from.len()).filter(|part| *part == from) {
            part.copy_from_slice(to);
        }
    }
    bytes
}

/// Renames values of the nodes of the main graph.
fn rename(model: &mut ModelProto, names: &[(&str, &str)]) {
    for node in &mut graph(model).node {
        for name in node.input.iter_mut().chain(&mut node.output) {
            if let Some((_, new)) = names.iter().find(|(old, _)| old == name) {
                *name = (*new).into();
            }
        }
    }
}

/// A model with this name for its node.
fn node(name: &str) -> DraftResult {
    negation()?.changed(|model| first_node(model, |node| node.name = Some(name.into()))).answered()
}

/// A model with an operator that no runtime has.
fn operator(name: &str, domain: &str) -> DraftResult {
    negation()?.refused(|model| {
        first_node(model, |node| {
            node.op_type = Some(name.into());
            node.domain = Some(domain.into());
        });
    })
}

/// A model with an initializer `w` of one string, which may be invalid, and with nodes that output one number `n`.
fn strings(made_of: &str, bytes: &'static [u8]) -> DraftResult {
    let text = format!(
        r#"<ir_version: 9, opset_import: ["" : 20]> g () => (int64[1] n) <string[1] w = {{"a"}}> {{ {made_of} }}"#
    );
    let valid = valid_model(&text, Vec::new(), vec![("n", shape(&[1]))])?;
    valid.changed(|model| first_weight(model, |tensor| tensor.string_data = vec![bytes.into()])).any()
}
