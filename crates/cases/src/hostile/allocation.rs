//! Allocation: small models that request more elements than fit into any machine's memory, most of them in constants
//! that a runtime may fold while it loads.
//!
//! The models end with Shape, so the correct output is small: a runtime that never materializes the elements may return
//! it.

use crate::hostile::draft::{
    Attack, DraftError, DraftResult, ValidModel, declared, floats, integers, nodes, nodes_at, shape, valid_model,
};

/// 2^20, 2^32 and 2^40.
const MILLION: i128 = 1 << 20;
const BILLIONS: i128 = 1 << 32;
const TERA: i128 = 1 << 40;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "constant_of_shape",
        says: "a constant of 2^40 elements",
        make: || asks(&format!("s = Constant <value = int64[1] {{{TERA}}}> () a = ConstantOfShape (s)"), &[TERA]),
    },
    Attack {
        name: "constant_of_shape_at_run_time",
        says: "a constant of 2^40 elements, whose shape is an input",
        make: || {
            let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (int64[1] s) => (int64[1] n) { a = ConstantOfShape (s) n = Shape (a) }"#;
            valid_model(text, vec![("s", shape(&[TERA]))], vec![("n", shape(&[TERA]))])?.answered()
        },
    },
    Attack {
        name: "constant_of_shape_elements_wrap",
        says: "a constant of 2^32 x 2^32 elements: the product is 0 in 64 bits",
        make: || {
            let text = format!("s = Constant <value = int64[2] {{{BILLIONS}, {BILLIONS}}}> () a = ConstantOfShape (s)");
            asks(&text, &[BILLIONS, BILLIONS])
        },
    },
    Attack {
        name: "constant_of_shape_bytes_wrap",
        says: "a constant of 2^62 floats: their bytes are 0 in 64 bits",
        make: || {
            let size = 1_i128 << 62;
            asks(&format!("s = Constant <value = int64[1] {{{size}}}> () a = ConstantOfShape (s)"), &[size])
        },
    },
    Attack {
        name: "constant_of_shape_negative",
        says: "a constant of -1 elements",
        make: || {
            let text = |size: i32| format!("s = Constant <value = int64[1] {{{size}}}> () a = ConstantOfShape (s)");
            given(&text(2), &[2], &[0.0, 0.0])?.refused_for(&text(-1))
        },
    },
    Attack {
        name: "expand",
        says: "one element expanded to 2^40",
        make: || {
            let text = format!(
                "x = Constant <value = float[1] {{1}}> () s = Constant <value = int64[1] {{{TERA}}}> () a = Expand (x, s)"
            );
            asks(&text, &[TERA])
        },
    },
    Attack {
        name: "expand_elements_wrap",
        says: "one element expanded to 2^32 x 2^32: the product is 0 in 64 bits",
        make: || {
            let text = format!(
                "x = Constant <value = float[1] {{1}}> ()
                 s = Constant <value = int64[2] {{{BILLIONS}, {BILLIONS}}}> () a = Expand (x, s)"
            );
            asks(&text, &[BILLIONS, BILLIONS])
        },
    },
    Attack {
        name: "reshape_elements_wrap",
        says: "two elements as 3 x 6148914691236517206: the product is 2 in 64 bits",
        make: || {
            let to = |sizes: &str| {
                format!(
                    "x = Constant <value = float[2] {{1, 2}}> () s = Constant <value = int64[2] {{{sizes}}}> () a = Reshape (x, s)"
                )
            };
            given(&to("2, 1"), &[2, 1], &[1.0, 2.0])?.refused_for(&to("3, 6148914691236517206"))
        },
    },
    Attack {
        name: "reshape_to_rank_65536",
        says: "an element as a tensor of rank 65,536, which is valid",
        make: || {
            let text = "x = Constant <value = float[1] {1}> () r = Constant <value = int64[1] {65536}> ()
                        s = ConstantOfShape <value = int64[1] {1}> (r) a = Reshape (x, s) n = Size (a)";
            nodes(text, ("n", "int64", integers(&[], &[1])))?.answered()
        },
    },
    Attack {
        name: "range",
        says: "the integers below 2^40",
        make: || {
            let text = format!(
                "z = Constant <value = int64 {{0}}> () l = Constant <value = int64 {{{TERA}}}> ()
                 d = Constant <value = int64 {{1}}> () a = Range (z, l, d)"
            );
            asks(&text, &[TERA])
        },
    },
    Attack {
        name: "range_of_tiny_steps",
        says: "the floats from 0 to 1 in steps of 1e-30, more than 64 bits count",
        make: || given(&range("0.5"), &[2], &[0.0, 0.5])?.refused_for(&range("1.0e-30")),
    },
    Attack {
        name: "range_of_no_step",
        says: "a range whose step is 0",
        make: || given(&range("0.0"), &[0], &[])?.any(),
    },
    Attack {
        name: "tile",
        says: "one element 2^40 times",
        make: || {
            let text = format!(
                "x = Constant <value = float[1] {{1}}> () s = Constant <value = int64[1] {{{TERA}}}> () a = Tile (x, s)"
            );
            asks(&text, &[TERA])
        },
    },
    Attack {
        name: "tile_size_wraps",
        says: "4 elements 2^62 times: the size is 0 in 64 bits",
        make: || {
            let times = |times: i128| {
                format!(
                    "x = Constant <value = float[4] {{1, 2, 3, 4}}> () s = Constant <value = int64[1] {{{times}}}> () a = Tile (x, s)"
                )
            };
            given(&times(2), &[8], &[1.0, 2.0, 3.0, 4.0].repeat(2))?.refused_for(&times(1 << 62))
        },
    },
    Attack { name: "pad", says: "an element with 2^40 behind it", make: || asks(&pad(0, TERA), &[TERA + 1]) },
    Attack {
        name: "pad_size_wraps",
        says: "an element with 2^63 - 1 on both sides: the size is -1 in 64 bits",
        make: || given(&pad(1, 1), &[3], &[0.0, 1.0, 0.0])?.refused_for(&pad(i64::MAX.into(), i64::MAX.into())),
    },
    Attack {
        name: "pad_by_the_smallest",
        says: "an element with -2^63 on both sides",
        make: || given(&pad(1, 1), &[3], &[0.0, 1.0, 0.0])?.refused_for(&pad(i64::MIN.into(), i64::MIN.into())),
    },
    Attack {
        name: "resize",
        says: "a picture of one element as one of 2^20 x 2^20",
        make: || {
            let text = format!(
                "x = Constant <value = float[1,1,1,1] {{1}}> () s = Constant <value = int64[4] {{1, 1, {MILLION}, {MILLION}}}> ()
                 a = Resize (x, , , s)"
            );
            asks(&text, &[1, 1, MILLION, MILLION])
        },
    },
    Attack {
        name: "resize_by_1e30",
        says: "a picture of one element enlarged 1e30 times, more than 64 bits count",
        make: || given(&resize("2.0"), &[1, 1, 2, 2], &[1.0; 4])?.refused_for(&resize("1.0e30")),
    },
    Attack {
        name: "resize_to_minus_1",
        says: "a picture of one element enlarged -1 times",
        make: || given(&resize("2.0"), &[1, 1, 2, 2], &[1.0; 4])?.refused_for(&resize("-1.0")),
    },
    Attack {
        name: "one_hot",
        says: "one index as a row of 2^40 elements",
        make: || {
            let text = format!(
                "i = Constant <value = int64[1] {{0}}> () d = Constant <value = int64 {{{TERA}}}> ()
                 v = Constant <value = float[2] {{0, 1}}> () a = OneHot (i, d, v)"
            );
            asks(&text, &[1, TERA])
        },
    },
    Attack {
        name: "outer_product",
        says: "a column of 2^20 elements times a row of as many",
        make: || {
            let text = format!(
                "s = Constant <value = int64[2] {{{MILLION}, 1}}> () t = Constant <value = int64[2] {{1, {MILLION}}}> ()
                 x = ConstantOfShape (s) y = ConstantOfShape (t) a = MatMul (x, y)"
            );
            asks(&text, &[MILLION, MILLION])
        },
    },
    Attack {
        name: "broadcast",
        says: "the sum of a column of 2^20 elements and a row of as many",
        make: || {
            let text = format!(
                "s = Constant <value = int64[2] {{{MILLION}, 1}}> () t = Constant <value = int64[2] {{1, {MILLION}}}> ()
                 x = ConstantOfShape (s) y = ConstantOfShape (t) a = Add (x, y)"
            );
            asks(&text, &[MILLION, MILLION])
        },
    },
    Attack {
        name: "random",
        says: "2^40 random numbers",
        make: || asks(&format!("a = RandomUniform <shape = [{TERA}]> ()"), &[TERA]),
    },
    Attack {
        name: "window",
        says: "a window of 2^40 elements",
        make: || {
            let text = format!("s = Constant <value = int64 {{{TERA}}}> () a = BlackmanWindow (s) n = Shape (a)");
            nodes_at((8, 17), &text, ("n", "int64[1]", shape(&[TERA])))?.answered()
        },
    },
    Attack {
        name: "crop_or_pad",
        says: "an element padded to 2^40",
        make: || {
            let text = format!(
                "x = Constant <value = float[1] {{1}}> () s = Constant <value = int64[1] {{{TERA}}}> ()
                 a = CenterCropPad (x, s) n = Shape (a)"
            );
            nodes_at((8, 18), &text, ("n", "int64[1]", shape(&[TERA])))?.answered()
        },
    },
    Attack {
        name: "transposed_convolution",
        says: "a transposed convolution of two elements in steps of 2^40",
        make: || {
            let text = format!(
                "x = Constant <value = float[1,1,2] {{1, 2}}> () w = Constant <value = float[1,1,1] {{1}}> ()
                 a = ConvTranspose <strides = [{TERA}]> (x, w)"
            );
            asks(&text, &[1, 1, TERA + 1])
        },
    },
    Attack {
        name: "regions",
        says: "a region of interest of 2^20 x 2^20 elements",
        make: || {
            let text = format!(
                "x = Constant <value = float[1,1,1,1] {{1}}> () r = Constant <value = float[1,4] {{0, 0, 1, 1}}> ()
                 b = Constant <value = int64[1] {{0}}> ()
                 a = RoiAlign <output_height = {MILLION}, output_width = {MILLION}, sampling_ratio = 1> (x, r, b)"
            );
            asks(&text, &[1, 1, MILLION, MILLION])
        },
    },
    Attack {
        name: "unpool_beyond_the_output",
        says: "an element put at place 2^40 of an output of 4",
        make: || given(&unpool(0), &[1, 1, 2, 2], &[1.0, 0.0, 0.0, 0.0])?.refused_for(&unpool(TERA)),
    },
    Attack {
        name: "unpool_before_the_output",
        says: "an element put at place -2^40 of an output of 4",
        make: || given(&unpool(0), &[1, 1, 2, 2], &[1.0, 0.0, 0.0, 0.0])?.refused_for(&unpool(-TERA)),
    },
    Attack {
        name: "loop_that_doubles",
        says: "a loop of 40 trips, each of which doubles its state",
        make: || {
            let text = "m = Constant <value = int64 {40}> () c = Constant <value = bool {1}> () x = Constant <value = float[1] {1}> ()
                        a = Loop (m, c, x) <body = b (int64 i, bool k, float[N] s) => (bool k2, float[M] d) {
                          k2 = Identity (k) d = Concat <axis = 0> (s, s) }>";
            asks(text, &[TERA])
        },
    },
    Attack {
        name: "loop_of_most_trips_that_ends",
        says: "a loop of at most 2^63 - 1 trips, whose condition ends it after 3: nothing may be made for all trips beforehand",
        make: || {
            let text = "m = Constant <value = int64 {9223372036854775807}> () c = Constant <value = bool {1}> ()
                        x = Constant <value = float[1] {1}> () t = Constant <value = float {4}> ()
                        a, n = Loop (m, c, x) <body = b (int64 i, bool k, float[1] s) => (bool k2, float[1] d, float[1] o) {
                          one = Constant <value = float[1] {1}> () d = Add (s, one) o = Identity (d)
                          axes = Constant <value = int64[1] {0}> () e = Squeeze (d, axes) k2 = Less (e, t) }>";
            nodes(text, ("n", "float[3,1]", floats(&[3, 1], &[2.0, 3.0, 4.0])))?.answered()
        },
    },
    Attack {
        name: "picture_of_2_to_the_60",
        says: "a picture of 54 bytes whose head says 2^30 x 2^30 points",
        make: || {
            let head: Vec<u8> = [
                b"BM".as_slice(),
                &54_u32.to_le_bytes(),
                &[0; 4],
                &54_u32.to_le_bytes(),
                &40_u32.to_le_bytes(),
                &(1_u32 << 30).to_le_bytes(),
                &(1_u32 << 30).to_le_bytes(),
                &[1, 0, 24, 0],
                &[0; 24],
            ]
            .concat();
            let bytes: Vec<String> = head.iter().map(u8::to_string).collect();
            let text = format!(
                "x = Constant <value = uint8[{}] {{{}}}> () a = ImageDecoder (x) n = Shape (a)",
                bytes.len(),
                bytes.join(", ")
            );
            nodes_at((9, 20), &text, ("n", "int64[3]", shape(&[0, 0, 0])))?.any()
        },
    },
    Attack {
        name: "pattern_of_nested_repeats",
        says: "a regular expression of (((a{1000}){1000}){1000}), whose automaton has a billion states",
        make: || pattern("(((a{1000}){1000}){1000})"),
    },
    Attack {
        name: "pattern_of_20000_groups",
        says: "a regular expression of (x+x+)+y 20,000 times",
        make: || pattern(&"(x+x+)+y".repeat(20_000)),
    },
    Attack {
        name: "pattern_of_deep_groups",
        says: "a regular expression of 10,000 groups in each other",
        make: || pattern(&["(".repeat(10_000), "a".to_owned(), ")".repeat(10_000)].concat()),
    },
    Attack {
        name: "pattern_that_backtracks",
        says: "a regular expression that takes a search with backtracking 2^40 steps",
        make: || {
            let text = format!(
                r#"x = Constant <value = string[1] {{"{}"}}> () y = RegexFullMatch <pattern = "(a|aa)+b"> (x)
                   n = Cast <to = 7> (y)"#,
                "a".repeat(60)
            );
            nodes_at((9, 20), &text, ("n", "int64[1]", shape(&[0])))?.answered()
        },
    },
];

/// Returns nodes that compute `a` and its shape `n`.
fn measured(text: &str) -> String {
    format!("{text} n = Shape (a)")
}

/// A model that creates a float tensor `a` and outputs it.
fn given(text: &str, sizes: &[usize], values: &[f64]) -> Result<ValidModel, DraftError> {
    nodes(text, ("a", &declared(sizes), floats(sizes, values)))
}

/// A model that creates a tensor `a` and outputs its shape.
fn asked(text: &str, sizes: &[i128]) -> Result<ValidModel, DraftError> {
    let declared = format!("int64[{}]", sizes.len());
    nodes(&measured(text), ("n", &declared, shape(sizes)))
}

fn asks(text: &str, sizes: &[i128]) -> DraftResult {
    asked(text, sizes)?.answered()
}

fn range(step: &str) -> String {
    format!(
        "z = Constant <value = float {{0}}> () l = Constant <value = float {{1}}> ()
         d = Constant <value = float {{{step}}}> () a = Range (z, l, d)"
    )
}

fn pad(before: i128, behind: i128) -> String {
    format!(
        "x = Constant <value = float[1] {{1}}> () s = Constant <value = int64[2] {{{before}, {behind}}}> () a = Pad (x, s)"
    )
}

fn resize(scale: &str) -> String {
    format!(
        "x = Constant <value = float[1,1,1,1] {{1}}> () s = Constant <value = float[4] {{1, 1, {scale}, {scale}}}> ()
         a = Resize (x, , s)"
    )
}

fn unpool(place: i128) -> String {
    format!(
        "x = Constant <value = float[1,1,1,1] {{1}}> () i = Constant <value = int64[1,1,1,1] {{{place}}}> ()
         a = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)"
    )
}

/// A model that matches a text against a regular expression.
fn pattern(pattern: &str) -> DraftResult {
    let text = format!(
        r#"x = Constant <value = string[1] {{"aaa"}}> () y = RegexFullMatch <pattern = "{pattern}"> (x)
                        n = Cast <to = 7> (y)"#
    );
    nodes_at((9, 20), &text, ("n", "int64[1]", shape(&[0])))?.any()
}
