//! `--inputs`: inputs of a model in files of numpy and of ONNX.

use std::fs;

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::Message as _;

use crate::models::Folder;
use crate::program::{Called, call};

const TWO: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[N, 2] x, int64[2] k) => (float[N, 2] y) { c = Cast <to = 1> (k) y = Mul (x, c) }"#;

/// Returns an array file as `numpy.save` writes it.
fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{dict:117}\n");
    [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), data].concat()
}

fn floats() -> Vec<u8> {
    npy("<f4", "(1, 2)", &[1.5_f32, 2.0].map(f32::to_le_bytes).concat())
}

fn integers() -> Vec<u8> {
    npy(">i8", "(2,)", &[3_i64, 4].map(i64::to_be_bytes).concat())
}

/// Returns an archive as `numpy.savez` writes it. The checksums are those of the arrays.
fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in arrays {
        let (name, size) = (format!("{name}.npy"), u32::try_from(data.len()).unwrap().to_le_bytes());
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc32(data).to_le_bytes()[..], &size, &size, &length, &[0, 0]]
                .concat();
        let offset = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &common[..], &[0; 10], &offset, name.as_bytes()].concat());
        bytes.extend([&b"PK\x03\x04"[..], &common[..], name.as_bytes(), data].concat());
    }
    let count = u16::try_from(arrays.len()).unwrap().to_le_bytes();
    let (size, offset) = (directory.len(), bytes.len());
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count[..], &count].concat());
    bytes.extend([size, offset].map(|number| u32::try_from(number).unwrap().to_le_bytes()).concat());
    bytes.extend([0, 0]);
    bytes
}

/// CRC-32 of zip, bit by bit.
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

fn model(folder: &Folder) -> String {
    folder.write("model.onnx", parse_model(TWO).unwrap().encode_to_vec())
}

/// Traces the model on these inputs.
fn trace(model: &str, inputs: &str) -> Called {
    call(&["trace", model, "--inputs", inputs])
}

#[test]
fn arrays_are_inputs_by_their_names() {
    let folder = Folder::new();
    let model = model(&folder);
    let archive = folder.write("in.npz", npz(&[("k", integers()), ("x", floats())]));
    let expected = "y = tensor(float)[1, 2] [4.5, 8.0]";
    trace(&model, &archive).expect(0, expected);
    trace(&model, &folder.write("unnamed.npz", npz(&[("arr_0", floats()), ("arr_1", integers())]))).expect(0, expected);
    fs::create_dir_all(folder.path().join("sets/first")).unwrap();
    folder.write("sets/first/x.npy", floats());
    folder.write("sets/first/input_1.npy", integers());
    folder.write("sets/first/output_0.npy", floats());
    trace(&model, &folder.file("sets")).expect(0, expected);
    fs::copy(&archive, folder.path().join("sets/second.npz")).unwrap();
    let sets = folder.file("sets");
    call(&["convert", &model, "--opset", "12", "--inputs", &sets, "--verify", "0"])
        .expect(0, "verified: bit-identical outputs on 2 of 2 inputs");
    call(&["trace", &model, "--runtime", "builtin", "--inputs", &sets]).expect(0, "2 sets of inputs");
    call(&["check", &model, "--probe", "--runtime", "builtin", "--inputs", &sets]).expect(0, "runs");
}

#[test]
fn inputs_that_do_not_fit_are_named_with_the_rule() {
    let folder = Folder::new();
    let model = model(&folder);
    let check = |arrays: &[(&str, Vec<u8>)], message: &str| {
        let archive = folder.write("in.npz", npz(arrays));
        trace(&model, &archive).expect(4, message);
        call(&["convert", &model, "--opset", "12", "--inputs", &archive]).expect(4, message);
        call(&["check", &model, "--probe", "--runtime", "builtin", "--inputs", &archive]).expect(4, message);
    };
    check(&[("x", floats())], "in.npz: input 'k' is missing; the model's inputs are 'x', 'k'");
    check(&[("x", floats()), ("k", integers()), ("z", floats())], "in.npz: array 'z' is of no input");
    let other = npy("<f8", "(1, 2)", &[0; 16]);
    check(
        &[("x", other), ("k", integers())],
        "in.npz, array 'x': input 'x' is tensor(float) in the model, but tensor(double) here",
    );
    let other = npy("<f4", "(2,)", &[0; 8]);
    check(&[("x", other), ("k", integers())], "input 'x' has the shape [N, 2] in the model, but [2] here");
    check(&[("x", floats()[..130].to_vec()), ("k", integers())], "array 'x': the file is truncated: ");
    check(&[("x", npy("|O", "(1, 2)", b"")), ("k", integers())], "numpy.savez(..., allow_pickle=False)");

    let whole = npz(&[("x", floats()), ("k", integers())]);
    trace(&model, &folder.write("cut.npz", &whole[..200])).expect(4, "cut.npz: not a readable .npz archive: ");
    let mut damaged = whole;
    damaged[165] ^= 1;
    trace(&model, &folder.write("damaged.npz", damaged)).expect(4, "'x' is damaged");
    trace(&model, &folder.write("x.npy", floats())).expect(4, "x.npy: expected a .npz file, or a folder");
    trace(&model, &folder.file("none")).expect(4, "none: ");

    fs::create_dir(folder.path().join("set")).unwrap();
    folder.write("set/x.npy", floats());
    let set = folder.file("set");
    trace(&model, &set).expect(4, "set: input 'k' is missing; write it to input_1.pb, or to a .npy file of its name");
    folder.write("set/k.npy", integers());
    folder.write("set/input_0.npy", floats());
    trace(&model, &set).expect(4, "set: input 'x' is in x.npy and in input_0.npy; remove one of them");
    fs::remove_file(folder.path().join("set/input_0.npy")).unwrap();
    folder.write("set/extra.npy", floats());
    trace(&model, &set).expect(4, "set: extra.npy is of no input; the model's inputs are 'x', 'k'");

    let archive = folder.file("in.npz");
    call(&["check", &model, "--inputs", &archive]).expect(64, "--probe");
    call(&["check", &model, &model, "--probe", "--runtime", "builtin", "--inputs", &archive]).expect(64, "name one");
    call(&["check", "-", "--probe", "--runtime", "builtin", "--inputs", &archive]).expect(64, "not on standard input");
}
