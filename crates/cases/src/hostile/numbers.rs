//! Numbers: divisions and products that trap in a processor or overflow a signed integer.

use crate::hostile::draft::{Attack, DraftError, DraftResult, ValidModel, floats, integers, nodes, nodes_at};

const SMALLEST: &str = "-9223372036854775808";
const LARGEST: &str = "9223372036854775807";

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "int32_divided_by_0", says: "1 / 0 of int32", make: || divided("int32", "Div", "1", "0") },
    Attack { name: "int64_divided_by_0", says: "1 / 0 of int64", make: || divided("int64", "Div", "1", "0") },
    Attack {
        name: "smallest_int32_divided_by_minus_1",
        says: "-2^31 / -1 of int32, which x86 answers by an exception",
        make: || divided("int32", "Div", "-2147483648", "-1"),
    },
    Attack {
        name: "smallest_int64_divided_by_minus_1",
        says: "-2^63 / -1 of int64, which x86 answers by an exception",
        make: || divided("int64", "Div", "-9223372036854775808", "-1"),
    },
    Attack { name: "int32_modulo_0", says: "1 modulo 0 of int32", make: || divided("int32", "Mod", "1", "0") },
    Attack { name: "int64_modulo_0", says: "1 modulo 0 of int64", make: || divided("int64", "Mod", "1", "0") },
    Attack {
        name: "smallest_int32_modulo_minus_1",
        says: "-2^31 modulo -1 of int32, which x86 answers by an exception",
        make: || divided("int32", "Mod", "-2147483648", "-1"),
    },
    Attack {
        name: "smallest_int64_modulo_minus_1",
        says: "-2^63 modulo -1 of int64, which x86 answers by an exception",
        make: || divided("int64", "Mod", "-9223372036854775808", "-1"),
    },
    Attack {
        name: "int32_to_the_minus_1",
        says: "0 to the power of -1 of int32",
        make: || divided("int32", "Pow", "0", "-1"),
    },
    Attack {
        name: "mean_of_no_integers",
        says: "the mean of no int32",
        make: || {
            let text = "s = Constant <value = int64[1] {0}> () x = ConstantOfShape <value = int32[1] {1}> (s)
                        m = ReduceMean <axes = [0], keepdims = 0> (x) y = Cast <to = 7> (m)";
            nodes(text, ("y", "int64", integers(&[], &[0])))?.any()
        },
    },
    Attack {
        name: "shift_by_200",
        says: "1 shifted by 200 places",
        make: || {
            let text = "a = Constant <value = uint64[1] {1}> () b = Constant <value = uint64[1] {200}> ()
                        c = BitShift <direction = \"LEFT\"> (a, b) y = Cast <to = 7> (c)";
            nodes(text, ("y", "int64[1]", integers(&[1], &[0])))?.any()
        },
    },
    Attack {
        name: "float_beyond_integers",
        says: "1e30 as int32",
        make: || {
            let text = "a = Constant <value = float[1] {1.0e30}> () b = Cast <to = 6> (a) y = Cast <to = 7> (b)";
            nodes(text, ("y", "int64[1]", integers(&[1], &[0])))?.any()
        },
    },
    Attack {
        name: "convolution_of_stride_0",
        says: "a convolution in steps of 0: the size of its output divides by them",
        make: || convolution("strides = [1]")?.refused_for(&convolved("strides = [0]")),
    },
    Attack {
        name: "convolution_of_group_0",
        says: "a convolution of 0 groups: the channels of a group divide by them",
        make: || convolution("group = 1")?.refused_for(&convolved("group = 0")),
    },
    Attack {
        name: "convolution_of_dilation_2_to_the_62",
        says: "a convolution whose weights stand 2^62 apart",
        make: || convolution("dilations = [1]")?.refused_for(&convolved("dilations = [4611686018427387904]")),
    },
    Attack {
        name: "convolution_of_largest_pads",
        says: "a convolution with 2^63 - 1 zeros on both sides: the size is beyond 64 bits",
        make: || {
            let pads = "pads = [9223372036854775807, 9223372036854775807]";
            convolution("pads = [0, 0]")?.refused_for(&convolved(pads))
        },
    },
    Attack {
        name: "pool_of_stride_0",
        says: "a pool in steps of 0: the size of its output divides by them",
        make: || pool("strides = [1]")?.refused_for(&pooled("strides = [0]")),
    },
    Attack {
        name: "pool_of_size_0",
        says: "a mean of 0 elements",
        make: || pool("strides = [1]")?.refused_for(&pooled("").replace("[2]", "[0]")),
    },
    Attack {
        name: "pool_of_negative_size",
        says: "a mean of -2 elements",
        make: || pool("strides = [1]")?.refused_for(&pooled("").replace("kernel_shape = [2]", "kernel_shape = [-2]")),
    },
    Attack {
        name: "pool_of_largest_pads",
        says: "a pool with 2^62 zeros on both sides: the size is beyond 64 bits",
        make: || pool("pads = [0, 0]")?.refused_for(&pooled("pads = [4611686018427387904, 4611686018427387904]")),
    },
    Attack {
        name: "blocks_of_0",
        says: "DepthToSpace with blocks of 0: the depth is divided by their square",
        make: || {
            let text = |size: u32| {
                format!("x = Constant <value = float[1,1,1,1] {{1}}> () y = DepthToSpace <blocksize = {size}> (x)")
            };
            nodes(&text(1), ("y", "float[1,1,1,1]", floats(&[1, 1, 1, 1], &[1.0])))?.refused_for(&text(0))
        },
    },
    Attack {
        name: "space_of_blocks_of_0",
        says: "SpaceToDepth with blocks of 0: the sides are divided by them",
        make: || {
            let text = |size: u32| {
                format!("x = Constant <value = float[1,1,1,1] {{1}}> () y = SpaceToDepth <blocksize = {size}> (x)")
            };
            nodes(&text(1), ("y", "float[1,1,1,1]", floats(&[1, 1, 1, 1], &[1.0])))?.refused_for(&text(0))
        },
    },
    Attack {
        name: "groups_of_0_channels",
        says: "GroupNormalization of 0 groups: the channels are divided by them",
        make: || {
            let text = |groups: u32| {
                format!(
                    "x = Constant <value = float[1,1,1] {{1}}> () s = Constant <value = float[1] {{1}}> ()
                     y = GroupNormalization <num_groups = {groups}> (x, s, s)"
                )
            };
            nodes_at((10, 21), &text(1), ("y", "float[1,1,1]", floats(&[1, 1, 1], &[1.0])))?.refused_for(&text(0))
        },
    },
    Attack {
        name: "heads_of_0",
        says: "Attention of 0 heads: the width is divided by them",
        make: || {
            let text = |heads: u32| {
                format!(
                    "x = Constant <value = float[1,1,2] {{1, 2}}> ()
                     y = Attention <q_num_heads = {heads}, kv_num_heads = {heads}> (x, x, x)"
                )
            };
            nodes_at((10, 23), &text(1), ("y", "float[1,1,2]", floats(&[1, 1, 2], &[1.0, 2.0])))?.refused_for(&text(0))
        },
    },
    Attack {
        name: "split_into_0",
        says: "a split into 0 parts: the size is divided by them",
        make: || {
            let text =
                |parts: u32| format!("x = Constant <value = float[1] {{1}}> () y = Split <num_outputs = {parts}> (x)");
            nodes_at((8, 18), &text(1), ("y", "float[1]", floats(&[1], &[1.0])))?.refused_for(&text(0))
        },
    },
    Attack {
        name: "resize_of_nothing",
        says: "a picture without points enlarged to 3: the scale divides by 0",
        make: || {
            let text =
                "e = Constant <value = int64[1] {0}> () x = ConstantOfShape (e) s = Constant <value = int64[1] {3}> ()
                        a = Resize (x, , , s) y = Size (a)";
            nodes(text, ("y", "int64", integers(&[], &[3])))?.any()
        },
    },
    Attack {
        name: "axis_smallest_of_concat",
        says: "Concat along axis -2^63",
        make: || axis(SMALLEST, "a = Concat <axis = AXIS> (x, x)"),
    },
    Attack {
        name: "axis_largest_of_concat",
        says: "Concat along axis 2^63 - 1",
        make: || axis(LARGEST, "a = Concat <axis = AXIS> (x, x)"),
    },
    Attack {
        name: "axis_smallest_of_softmax",
        says: "Softmax along axis -2^63",
        make: || axis(SMALLEST, "a = Softmax <axis = AXIS> (x)"),
    },
    Attack {
        name: "axis_largest_of_softmax",
        says: "Softmax along axis 2^63 - 1",
        make: || axis(LARGEST, "a = Softmax <axis = AXIS> (x)"),
    },
    Attack {
        name: "axis_smallest_of_flatten",
        says: "Flatten at axis -2^63",
        make: || axis(SMALLEST, "a = Flatten <axis = AXIS> (x)"),
    },
    Attack {
        name: "axis_smallest_of_unsqueeze",
        says: "Unsqueeze at axis -2^63",
        make: || axis(SMALLEST, "b = Constant <value = int64[1] {AXIS}> () a = Unsqueeze (x, b)"),
    },
    Attack {
        name: "axis_smallest_of_gather",
        says: "Gather along axis -2^63",
        make: || axis(SMALLEST, "b = Constant <value = int64[1] {0}> () a = Gather <axis = AXIS> (x, b)"),
    },
    Attack {
        name: "index_largest_of_gather",
        says: "element 2^63 - 1 of 2",
        make: || {
            let at = |index: &str| {
                format!(
                    "x = Constant <value = float[2] {{1, 2}}> () i = Constant <value = int64[1] {{{index}}}> ()
                     y = Gather (x, i)"
                )
            };
            nodes(&at("1"), ("y", "float[1]", floats(&[1], &[2.0])))?.refused_for(&at("9223372036854775807"))
        },
    },
    Attack {
        name: "slice_by_the_smallest_step",
        says: "a slice from 2^63 - 1 to -2^63 in steps of -2^63, which is valid: the last element",
        make: || nodes(&slice("-9223372036854775808"), ("y", "float[1]", floats(&[1], &[4.0])))?.answered(),
    },
    Attack {
        name: "slice_by_0",
        says: "a slice in steps of 0",
        make: || {
            nodes(&slice("-9223372036854775808"), ("y", "float[1]", floats(&[1], &[4.0])))?.refused_for(&slice("0"))
        },
    },
    Attack {
        name: "window_of_size_0",
        says: "LRN over 0 channels: the sum is divided by them",
        make: || {
            let text = |size: u32| {
                format!("x = Constant <value = float[1,1,1,1] {{1}}> () a = LRN <size = {size}> (x) y = Size (a)")
            };
            nodes(&text(0), ("y", "int64", integers(&[], &[1])))?.any()
        },
    },
    Attack {
        name: "scale_of_0",
        says: "a quantization by a scale of 0",
        make: || {
            let text = "x = Constant <value = float[1] {1}> () s = Constant <value = float {0}> () z = Constant <value = uint8 {0}> ()
                        a = QuantizeLinear (x, s, z) y = Size (a)";
            nodes(text, ("y", "int64", integers(&[], &[1])))?.any()
        },
    },
];

/// A model with an invalid axis; the control has axis 0. The nodes in `text` compute `a` from `x`, and its maximum is
/// the output.
fn axis(axis: &str, text: &str) -> DraftResult {
    let along = |axis: &str| {
        let text = text.replace("AXIS", axis);
        format!("x = Constant <value = float[2] {{0, 0}}> () {text} y = ReduceMax <keepdims = 0> (a)")
    };
    let largest = if text.contains("Softmax") { 0.5 } else { 0.0 };
    nodes(&along("0"), ("y", "float", floats(&[], &[largest])))?.refused_for(&along(axis))
}

/// A model with an operator of two integers, whose result is unknown.
fn divided(element: &str, operator: &str, a: &str, b: &str) -> DraftResult {
    let text = format!(
        "a = Constant <value = {element}[1] {{{a}}}> () b = Constant <value = {element}[1] {{{b}}}> ()
         c = {operator} (a, b) y = Cast <to = 7> (c)"
    );
    nodes(&text, ("y", "int64[1]", integers(&[1], &[0])))?.any()
}

fn convolved(attribute: &str) -> String {
    format!(
        "x = Constant <value = float[1,1,2] {{1, 2}}> () w = Constant <value = float[1,1,2] {{1, 2}}> ()
         y = Conv <{attribute}> (x, w)"
    )
}

fn convolution(attribute: &str) -> Result<ValidModel, DraftError> {
    nodes(&convolved(attribute), ("y", "float[1,1,1]", floats(&[1, 1, 1], &[5.0])))
}

fn pooled(attribute: &str) -> String {
    let attribute = if attribute.is_empty() { String::new() } else { format!(", {attribute}") };
    format!("x = Constant <value = float[1,1,2] {{1, 2}}> () y = AveragePool <kernel_shape = [2]{attribute}> (x)")
}

fn pool(attribute: &str) -> Result<ValidModel, DraftError> {
    nodes(&pooled(attribute), ("y", "float[1,1,1]", floats(&[1, 1, 1], &[1.5])))
}

fn slice(step: &str) -> String {
    format!(
        "x = Constant <value = float[4] {{1, 2, 3, 4}}> () f = Constant <value = int64[1] {{9223372036854775807}}> ()
         t = Constant <value = int64[1] {{-9223372036854775808}}> () o = Constant <value = int64[1] {{0}}> ()
         d = Constant <value = int64[1] {{{step}}}> () y = Slice (x, f, t, o, d)"
    )
}
