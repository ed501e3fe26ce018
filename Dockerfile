# The program with its adapters in Python, and onnxruntime as the runtime to try it with:
#   docker build -t onnx-conformance .
#   docker run --rm -v "$PWD:/data" onnx-conformance run --runtime onnxruntime 'ai.onnx/Relu-*/**'
# Another runtime in Python is one line on top: FROM onnx-conformance, RUN pip install RUNTIME.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages maturin==1.16.0
WORKDIR /source
COPY . .
RUN python3 python/stage.py && maturin build --release --locked --out /wheels

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
ARG RUNTIME=onnxruntime
RUN pip install --no-cache-dir /wheels/*.whl ${RUNTIME} && rm -rf /wheels
WORKDIR /data
ENTRYPOINT ["onnx-conformance"]
CMD ["--help"]
