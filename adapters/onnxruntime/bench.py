"""The plain loop that a runtime's author would write: every vendored node case through onnxruntime, in this process.

    onnx-conformance export DIR onnx-1.23.2/node
    target/adapters/onnxruntime/bin/python adapters/onnxruntime/bench.py DIR/onnx-1.23.2/node
    onnx-conformance run --runtime onnxruntime -j 1 'onnx-1.23.2/node/*'

The last does the same through the protocol and should take at most 1.5 times as long, and less with `-j 2`.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import onnx
import onnxruntime
from adapter import OPTIONS
from onnx import numpy_helper
from onnx_conformance_adapter.values import parse, to_python

KINDS = {"tensor_type": "tensor", "sequence_type": "seq", "optional_type": "optional"}


def values(folder, kind, infos):
    """The values of a data set, as Python has them."""
    found = []
    for number, info in enumerate(infos):
        path = folder / f"{kind}_{number}.pb"
        if path.exists():
            found.append(read(path.read_bytes(), info.type))
    return found


def read(data, declared):
    kind = KINDS[declared.WhichOneof("value")]
    if kind == "tensor":
        return numpy_helper.to_array(parse(data, "tensor(any)"))
    inner = "seq(tensor(any))" if kind == "optional" and declared.optional_type.elem_type.HasField("sequence_type") else "tensor(any)"
    return to_python(parse(data, f"{kind}({inner if kind == 'optional' else 'tensor(any)'})"), f"{kind}({inner})")


def main():
    root = Path(sys.argv[1])
    cases = sorted(path for path in root.iterdir() if (path / "model.onnx").exists())
    outcomes, started = {"pass": 0, "mismatch": 0, "error": 0}, time.perf_counter()
    for case in cases:
        try:
            session = onnxruntime.InferenceSession(str(case / "model.onnx"), OPTIONS, providers=["CPUExecutionProvider"])
            graph = onnx.load(case / "model.onnx").graph
            folder = case / "test_data_set_0"
            inputs = values(folder, "input", graph.input)
            expected = values(folder, "output", graph.output)
            results = session.run(None, {info.name: value for info, value in zip(graph.input, inputs)})
            for want, got in zip(expected, results):
                if isinstance(want, numpy.ndarray) and want.dtype.kind in "fiub":
                    numpy.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-7)
            outcomes["pass"] += 1
        except AssertionError:
            outcomes["mismatch"] += 1
        except Exception:
            outcomes["error"] += 1
    print(f"{len(cases)} cases, {outcomes} in {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
