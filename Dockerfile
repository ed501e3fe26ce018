# The program with its adapters in Python, and onnxruntime as the runtime to try it with:
#   docker build -t onnx-conformance .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" onnx-conformance run --runtime onnxruntime 'ai.onnx/Relu-*/**'
# Another runtime in Python is one line on top: FROM onnx-conformance, USER root, RUN pip install RUNTIME, USER onnx.
# Images are named by digest; Dependabot proposes newer ones.
FROM rust:1.95-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages maturin==1.16.0
WORKDIR /source
COPY . .
# The program that the pages of `report` run in a browser.
RUN rustup target add wasm32-unknown-unknown && cargo build --locked --profile browser --target wasm32-unknown-unknown --package onnx-conformance-browser
RUN python3 python/stage.py target/wasm32-unknown-unknown/browser/onnx_conformance_browser.wasm && maturin build --release --locked --out /wheels

FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
COPY --from=build /wheels /wheels
ARG RUNTIME=onnxruntime
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[adapters]" ${RUNTIME} && rm -rf /wheels
# Models of others run as a user who owns nothing.
RUN useradd --create-home --uid 10001 onnx
WORKDIR /data
RUN chown onnx:onnx /data
USER onnx
ENTRYPOINT ["onnx-conformance"]
CMD ["--help"]
