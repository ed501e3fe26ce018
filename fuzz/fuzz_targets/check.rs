//! See crates/fuzz-targets.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| onnx_conformance_fuzz_targets::check("check", input));
