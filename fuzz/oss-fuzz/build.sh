#!/bin/bash -eu
# Builds every target of fuzz/Cargo.toml into $OUT, each with a corpus that the suite's own cases make.
cd "$SRC/onnx-conformance"

# The corpus needs the stable program, and no sanitizer in it.
RUSTFLAGS= CARGO_TARGET_DIR=target cargo run --quiet --release --package xtask -- fuzz --corpus 200

cargo fuzz build -O --debug-assertions
for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  (cd "target/fuzz/corpus/$target" && zip --quiet --recurse-paths "$OUT/${target}_seed_corpus.zip" .)
  # Models of some kilobytes reach every operator; a megabyte only takes longer.
  printf '[libfuzzer]\nmax_len = 65536\n' > "$OUT/$target.options"
done
