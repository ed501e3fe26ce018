"""Runs the model beside this file on its inputs, and prints what is expected and what comes.

    python reproduce.py [{runtimes}]

It needs `onnx` and the runtime. For another runtime, write `run` anew.
"""

import sys
from pathlib import Path

import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
RUNTIME = sys.argv[1] if len(sys.argv) > 1 else "onnxruntime"


def run(path, inputs):
    """The outputs of the model for inputs by name, in order."""
    # The calls of the runtimes.
    sys.exit(f"this script does not know {RUNTIME}; write its `run` for it")


def read(path, declared):
    """The name and the value in a file of a test, whose message the declared type says."""
    kind = declared.WhichOneof("value")
    data = path.read_bytes()
    if kind == "sequence_type":
        message = onnx.SequenceProto.FromString(data)
        return message.name, numpy_helper.to_list(message)
    if kind == "optional_type":
        message = onnx.OptionalProto.FromString(data)
        return message.name, numpy_helper.to_optional(message)
    if kind == "map_type":
        message = onnx.MapProto.FromString(data)
        return message.name, numpy_helper.to_dict(message)
    message = onnx.TensorProto.FromString(data)
    return message.name, numpy_helper.to_array(message)


def values(folder, kind, ports):
    files = [folder / f"{kind}_{number}.pb" for number in range(len(ports))]
    return [read(path, port.type) for path, port in zip(files, ports) if path.exists()]


def main():
    path = str(HERE / "model.onnx")
    graph = onnx.load(path, load_external_data=False).graph
    for folder in sorted(HERE.glob("test_data_set_*")):
        given = {name or port.name: value for (name, value), port in zip(values(folder, "input", graph.input), graph.input)}
        expected = values(folder, "output", graph.output)
        print(f"{folder.name}, {RUNTIME}")
        for name, value in given.items():
            print(f"input {name}: {value!r}")
        try:
            came = run(path, given)
        except Exception as error:
            print(f"error: {error}")
            continue
        for number, value in enumerate(came):
            if number < len(expected):
                print(f"expected {expected[number][0]}: {expected[number][1]!r}")
            print(f"actual: {value!r}")


main()
