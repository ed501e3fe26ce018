//! External data: files outside the model's folder, devices, and parts of a file that do not exist.
//!
//! Each model is in a separate folder, next to `weights.bin`. `link.bin` and `linked` are symbolic links out of the
//! folder, and the file that all paths out of it lead to exists. A runtime that reads this file would disclose data of
//! a server.

use std::fs;
use std::io;
use std::path::Path;

use onnx_conformance_reference::proto::TensorProto;
use onnx_conformance_reference::proto::onnx::StringStringEntryProto;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;

use crate::hostile::draft::{Attack, Draft, DraftError, DraftResult, ValidModel, first_weight, weight};

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "parent", says: "a file of the folder above", make: || at("../outside.bin") },
    Attack {
        name: "parent_through_the_folder",
        says: "a file of the folder above, by way of the folder",
        make: || at("./../model/../outside.bin"),
    },
    Attack {
        name: "parent_through_nothing",
        says: "a file of the folder above, by way of a folder that is not there",
        make: || at("nothing/../../outside.bin"),
    },
    Attack {
        name: "parent_by_backslash",
        says: "a file of the folder above, as Windows writes it",
        make: || at("..\\outside.bin"),
    },
    Attack {
        name: "passwords",
        says: "../../etc/passwd, by as many steps as lead to the root",
        make: || at(&["../".repeat(32), "etc/passwd".to_owned()].concat()),
    },
    Attack { name: "absolute_passwords", says: "/etc/passwd", make: || at("/etc/passwd") },
    Attack { name: "address_of_a_file", says: "file:///etc/passwd", make: || at("file:///etc/passwd") },
    Attack {
        name: "address_of_a_server",
        says: "an address of a server on this machine",
        make: || at("http://127.0.0.1:9/weights.bin"),
    },
    Attack { name: "environment", says: "/proc/self/environ, where keys are", make: || at("/proc/self/environ") },
    Attack { name: "zeros", says: "/dev/zero, which has no end", make: || at("/dev/zero") },
    Attack { name: "random_numbers", says: "/dev/urandom, which has no end", make: || at("/dev/urandom") },
    Attack { name: "link", says: "a symbolic link to a file of the folder above", make: || at("link.bin") },
    Attack {
        name: "linked_folder",
        says: "a file below a symbolic link to the folder above",
        make: || at("linked/outside.bin"),
    },
    Attack { name: "folder", says: "the folder itself", make: || at(".") },
    Attack {
        name: "model",
        says: "the model itself, of which 8 bytes are taken for weights",
        make: || unclear(&[("location", "model.onnx"), ("length", "8")]),
    },
    Attack { name: "empty_location", says: "a file of no name", make: || at("") },
    Attack {
        name: "location_with_a_null",
        says: "a name that ends in weights.bin where a null character ends it",
        make: || at("weights.bin\0../outside.bin"),
    },
    Attack { name: "location_of_a_megabyte", says: "a name of 1 MiB", make: || at(&"a/".repeat(1 << 19)) },
    Attack {
        name: "two_locations",
        says: "two names, the second of which leads out of the folder",
        make: || unclear(&[("location", "weights.bin"), ("location", "../outside.bin")]),
    },
    Attack { name: "offset_at_the_end", says: "an offset at the end of the file", make: || part("8", "8") },
    Attack {
        name: "offset_beyond_the_end",
        says: "an offset of 2^40 in a file of 8 bytes",
        make: || part("1099511627776", "8"),
    },
    Attack { name: "largest_offset", says: "an offset of 2^63 - 1", make: || part("9223372036854775807", "8") },
    Attack {
        name: "offset_that_wraps",
        says: "an offset of 2^64 - 4: with the length it is 4 in 64 bits",
        make: || part("18446744073709551612", "8"),
    },
    Attack { name: "offset_minus_8", says: "an offset of -8", make: || part("-8", "8") },
    Attack { name: "offset_in_words", says: "an offset that is no number", make: || part("eight", "8") },
    Attack { name: "offset_of_1000_digits", says: "an offset of 1,000 digits", make: || part(&"9".repeat(1000), "8") },
    Attack {
        name: "length_beyond_the_end",
        says: "a length of 2^40 in a file of 8 bytes",
        make: || part("0", "1099511627776"),
    },
    Attack { name: "length_minus_1", says: "a length of -1", make: || part("0", "-1") },
    Attack { name: "length_that_wraps", says: "a length of 2^64 + 8", make: || part("0", "18446744073709551624") },
    Attack { name: "length_of_less", says: "a length of 4 for 8 bytes of elements", make: || part("0", "4") },
    Attack { name: "length_of_nothing", says: "a length of 0 for 8 bytes of elements", make: || part("0", "0") },
    Attack {
        name: "terabyte_in_8_bytes",
        says: "2^38 floats in a file of 8 bytes",
        make: || changed(|tensor| tensor.dims = vec![1 << 38]),
    },
    Attack {
        name: "strings_in_a_file",
        says: "strings in a file, where they cannot be",
        make: || changed(|tensor| tensor.data_type = Some(8)),
    },
];

/// The file that all paths out of a model's folder lead to.
const OUTSIDE: &str = "outside.bin";

/// The file next to a model.
const WEIGHTS: &str = "weights.bin";

/// Contents of both files: the floats 1 and -2.
fn content() -> Vec<u8> {
    [1_f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Writes the files that models name, and those that they must not reach.
fn write_files(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(folder);
    fs::write(folder.join(WEIGHTS), content())?;
    fs::write(above.join(OUTSIDE), content())?;
    link(&above.join(OUTSIDE), &folder.join("link.bin"))?;
    link(above, &folder.join("linked"))
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

/// On other systems, links need administrator rights. A model that names one names a missing file.
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A model with an initializer in a file, with these entries.
fn external(entries: &[(&str, &str)]) -> Result<ValidModel, DraftError> {
    Ok(weight()?.changed(|model| first_weight(model, |tensor| set_entries(tensor, entries))))
}

fn set_entries(tensor: &mut TensorProto, entries: &[(&str, &str)]) {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).to_owned()),
        value: Some((*value).to_owned()),
    };
    tensor.float_data.clear();
    tensor.raw_data = None;
    tensor.data_location = Some(DataLocation::External.into());
    tensor.external_data = entries.iter().map(entry).collect();
}

/// A model whose tensor is valid but for one change.
fn changed(change: impl FnOnce(&mut TensorProto)) -> DraftResult {
    let draft = external(&[("location", WEIGHTS)])?.refused(|model| first_weight(model, change))?;
    Ok(Draft { files: Some(write_files), ..draft })
}

/// A model that reads 8 bytes from a file that it must not name.
fn at(location: &str) -> DraftResult {
    changed(|tensor| set_entries(tensor, &[("location", location), ("length", "8")]))
}

/// A model that reads its elements from a part of the file next to it.
fn part(offset: &str, length: &str) -> DraftResult {
    changed(|tensor| set_entries(tensor, &[("location", WEIGHTS), ("offset", offset), ("length", length)]))
}

/// A model with entries that the standard does not define.
fn unclear(entries: &[(&str, &str)]) -> DraftResult {
    Ok(Draft { files: Some(write_files), ..external(entries)?.any()? })
}
