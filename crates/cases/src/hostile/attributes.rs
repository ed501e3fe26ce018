//! Attributes: kinds that do not match the value, missing values, and dangling references.

use onnx_conformance_reference::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto};

use crate::hostile::draft::{
    Attack, DraftError, DraftResult, ValidModel, first_node, floats, graph, integers, nodes, truth, valid_model,
};

/// Numbers of attribute kinds.
mod kind {
    pub(super) const FLOAT: i32 = 1;
    pub(super) const INT: i32 = 2;
    pub(super) const GRAPH: i32 = 5;
    pub(super) const INTS: i32 = 7;
    pub(super) const TYPE: i32 = 13;
}

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "int_that_holds_strings",
        says: "an attribute that says it is an integer, and holds strings",
        make: || {
            broken(|attribute| {
                *attribute = AttributeProto {
                    r#type: Some(kind::INT),
                    strings: vec![vec![0xff; 64].into(); 4],
                    ..named("axis")
                };
            })
        },
    },
    Attack {
        name: "int_that_holds_a_tensor",
        says: "an attribute that says it is an integer, and holds a tensor",
        make: || {
            broken(|attribute| {
                *attribute = AttributeProto {
                    r#type: Some(kind::INT),
                    t: Some(Box::new(TensorProto::default())),
                    ..named("axis")
                };
            })
        },
    },
    Attack {
        name: "int_that_holds_nothing",
        says: "an attribute that says it is an integer, and holds nothing, which may stand for 0",
        make: || {
            let without = |node: &mut NodeProto| node.attribute.iter_mut().for_each(|attribute| attribute.i = None);
            concat()?.changed(|model| first_node(model, without)).any()
        },
    },
    Attack {
        name: "ints_in_place_of_an_int",
        says: "a list of no integers where an operator takes one",
        make: || broken(|attribute| *attribute = AttributeProto { r#type: Some(kind::INTS), ..named("axis") }),
    },
    Attack {
        name: "graph_in_place_of_an_int",
        says: "a graph where an operator takes an integer",
        make: || {
            broken(|attribute| {
                let g = Some(Box::default());
                *attribute = AttributeProto { r#type: Some(kind::GRAPH), g, ..named("axis") };
            })
        },
    },
    Attack {
        name: "kind_99",
        says: "an attribute of a kind that there is not",
        make: || broken(|attribute| attribute.r#type = Some(99)),
    },
    Attack {
        name: "kind_minus_1",
        says: "an attribute of kind -1",
        make: || broken(|attribute| attribute.r#type = Some(-1)),
    },
    Attack {
        name: "every_value_at_once",
        says: "an attribute that holds a value of each kind",
        make: || {
            concat()?
                .changed(|model| {
                    first_node(model, |node| {
                        node.attribute.iter_mut().for_each(|attribute| {
                            attribute.f = Some(1.0);
                            attribute.s = Some(vec![0xff].into());
                            attribute.ints = vec![1; 100];
                            attribute.floats = vec![1.0; 100];
                            attribute.t = Some(Box::new(TensorProto::default()));
                            attribute.g = Some(Box::new(GraphProto::default()));
                        });
                    });
                })
                .any()
        },
    },
    Attack {
        name: "tensor_that_is_missing",
        says: "a Constant whose value says it is a tensor, and holds none",
        make: || constant(|attribute| attribute.t = None),
    },
    Attack {
        name: "tensor_without_type",
        says: "a Constant whose value is a tensor without a type",
        make: || constant(|attribute| attribute.t = Some(Box::new(TensorProto::default()))),
    },
    Attack {
        name: "tensor_that_is_a_float",
        says: "a Constant whose value is a float",
        make: || {
            constant(|attribute| {
                *attribute = AttributeProto { r#type: Some(kind::FLOAT), f: Some(1.0), ..named("value") }
            })
        },
    },
    Attack {
        name: "type_without_type",
        says: "an Optional of a type that says nothing",
        make: || {
            let text = r#"<ir_version: 8, opset_import: ["" : 15]> g () => (bool y) { o = Optional <type = float[2]> () y = OptionalHasElement (o) }"#;
            let control = valid_model(text, Vec::new(), vec![("y", truth(false))])?;
            control.refused(|model| {
                first_node(model, |node| {
                    node.attribute = vec![AttributeProto {
                        r#type: Some(kind::TYPE),
                        tp: Some(Box::new(TypeProto::default())),
                        ..named("type")
                    }];
                });
            })
        },
    },
    Attack {
        name: "two_of_one_name",
        says: "two attributes of one name and different values",
        make: || {
            concat()?.refused(|model| {
                first_node(model, |node| {
                    node.attribute.push(AttributeProto { r#type: Some(kind::INT), i: Some(1 << 40), ..named("axis") });
                });
            })
        },
    },
    Attack {
        name: "of_10000",
        says: "10,000 attributes that the operator does not have",
        make: || {
            concat()?.refused(|model| {
                let attribute = |number: u32| AttributeProto {
                    r#type: Some(kind::INT),
                    i: Some(1),
                    ..named(&format!("attribute_{number}"))
                };
                first_node(model, |node| node.attribute.extend((0..10_000).map(attribute)));
            })
        },
    },
    Attack {
        name: "reference_outside_of_functions",
        says: "an attribute of the main graph that refers to one of a caller",
        make: || {
            broken(|attribute| {
                attribute.i = None;
                attribute.ref_attr_name = Some("axis".to_owned());
            })
        },
    },
    Attack {
        name: "reference_to_itself",
        says: "an attribute of a function that refers to one that the function does not have",
        make: || {
            let text = r#"<ir_version: 8, opset_import: ["" : 15, "f" : 1]> g (float[2] x) => (float[4] y) { y = f.twice (x) }
                          <domain: "f", opset_import: ["" : 15]> twice (x) => (y) { y = Concat <axis = 0> (x, x) }"#;
            let value = |values: &[f64]| floats(&[values.len()], values);
            let control =
                valid_model(text, vec![("x", value(&[1.0, 2.0]))], vec![("y", value(&[1.0, 2.0, 1.0, 2.0]))])?;
            control.refused(|model| {
                let node = model.functions.first_mut().and_then(|function| function.node.first_mut());
                for attribute in node.into_iter().flat_map(|node| &mut node.attribute) {
                    attribute.i = None;
                    attribute.ref_attr_name = Some("axis".to_owned());
                }
            })
        },
    },
    Attack {
        name: "branch_without_graph",
        says: "an If whose branch says it is a graph, and holds none",
        make: || branches(|attribute| attribute.g = None),
    },
    Attack {
        name: "branch_of_nothing",
        says: "an If whose branch is a graph without nodes and outputs",
        make: || branches(|attribute| attribute.g = Some(Box::new(GraphProto::default()))),
    },
    Attack {
        name: "branch_of_fewer_outputs",
        says: "an If of one output whose branch has none",
        make: || branches(|attribute| attribute.g.iter_mut().for_each(|graph| graph.output.clear())),
    },
    Attack {
        name: "body_of_fewer_inputs",
        says: "a Loop whose body takes no inputs",
        make: || looped(|graph| graph.input.clear()),
    },
    Attack {
        name: "body_of_fewer_outputs",
        says: "a Loop whose body gives no outputs",
        make: || looped(|graph| graph.output.clear()),
    },
    Attack { name: "scan_of_minus_1_inputs", says: "a Scan over -1 inputs", make: || scan(-1) },
    Attack { name: "scan_of_most_inputs", says: "a Scan over 2^63 - 1 inputs", make: || scan(i64::MAX) },
];

fn named(name: &str) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() }
}

/// A model with a Concat.
fn concat() -> Result<ValidModel, DraftError> {
    let text =
        r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[4] y) { y = Concat <axis = 0> (x, x) }"#;
    let output = floats(&[4], &[1.0, -2.0, 1.0, -2.0]);
    valid_model(text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", output)])
}

/// A Concat with a changed attribute.
fn broken(change: impl Fn(&mut AttributeProto)) -> DraftResult {
    concat()?.refused(|model| first_node(model, |node| node.attribute.iter_mut().for_each(change)))
}

/// A Constant with a changed attribute.
fn constant(change: impl Fn(&mut AttributeProto)) -> DraftResult {
    let control = nodes("y = Constant <value = float[2] {1, 2}> ()", ("y", "float[2]", floats(&[2], &[1.0, 2.0])))?;
    control.refused(|model| first_node(model, |node| node.attribute.iter_mut().for_each(change)))
}

/// An If with a changed first branch.
fn branches(change: impl Fn(&mut AttributeProto)) -> DraftResult {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (bool c, float[2] x) => (float[2] y) {
                  y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }> }"#;
    let inputs = vec![("c", truth(true)), ("x", floats(&[2], &[1.0, -2.0]))];
    let control = valid_model(text, inputs, vec![("y", floats(&[2], &[-1.0, 2.0]))])?;
    let first = |model: &mut ModelProto| first_node(model, |node| node.attribute.iter_mut().take(1).for_each(change));
    control.refused(first)
}

/// A Loop with a changed body.
fn looped(change: impl Fn(&mut GraphProto)) -> DraftResult {
    let text = "m = Constant <value = int64 {3}> () c = Constant <value = bool {1}> () x = Constant <value = int64 {1}> ()
                y = Loop (m, c, x) <body = b (int64 i, bool k, int64 s) => (bool k2, int64 d) { k2 = Identity (k) d = Add (s, s) }>";
    let control = nodes(text, ("y", "int64", integers(&[], &[8])))?;
    control.refused(|model| {
        for node in &mut graph(model).node {
            node.attribute.iter_mut().filter_map(|attribute| attribute.g.as_deref_mut()).for_each(&change);
        }
    })
}

/// A Scan that declares this number of scan inputs.
fn scan(inputs: i64) -> DraftResult {
    let text = |inputs: i64| {
        format!(
            "x = Constant <value = float[2] {{1, 2}}> ()
             y = Scan <num_scan_inputs = {inputs}, body = b (float a) => (float d) {{ d = Neg (a) }}> (x)"
        )
    };
    nodes(&text(1), ("y", "float[2]", floats(&[2], &[-1.0, -2.0])))?.refused_for(&text(inputs))
}
