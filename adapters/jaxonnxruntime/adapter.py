"""jaxonnxruntime, which makes functions of JAX of ONNX models, behind the protocol of docs/protocol.md."""

import importlib.metadata
import itertools
import logging
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import jax
import numpy
import onnx
from jaxonnxruntime.backend import Backend
from onnx_conformance_adapter import LoadError, Unsupported, blamed_node, operator_version, serve, stable
from onnx_conformance_adapter.values import from_python, parse, to_python

# How it says that it has nothing under an operator's name, or nothing for a version.
NO_OPERATOR = re.compile(r"^(?P<operator>\w+)(?P<version> version \d+)? is not implemented\.")

# JAX keeps what it compiled for each node; after so many models it forgets it, so that a process does not grow for ever.
MODELS = itertools.count(1)
KEPT = 200


def run(path, inputs, outputs):
    if next(MODELS) % KEPT == 0:
        jax.clear_caches()
    try:
        model = onnx.load(path)
    except Exception as error:
        raise LoadError(stable(error)) from error
    strange = next((port.type for port in inputs + outputs if not is_array(port.type)), None)
    if strange:
        raise Unsupported(strange, f"JAX has no {strange}")
    values = {port.name: to_python(parse(port.read(), port.type), port.type) for port in inputs}
    try:
        results = Backend.prepare(model).run(values)
        named = dict(zip((info.name for info in model.graph.output), results))
        messages = [from_python(numpy.asarray(named[port.name]), port.type, port.name) for port in outputs]
    except Exception as error:
        raise missing_feature(model, error) or RuntimeError(f"{type(error).__name__}: {stable(error)}") from error
    for port, message in zip(outputs, messages):
        port.write(message.SerializeToString())


def is_array(type_text):
    """Whether JAX has values of the type: tensors of numbers and of truth values."""
    return type_text.startswith("tensor(") and type_text != "tensor(string)"


def missing_feature(model, error):
    """What jaxonnxruntime does not have; nothing for a failure of another kind."""
    found = NO_OPERATOR.search(str(error)) if isinstance(error, NotImplementedError) else None
    node = blamed_node(model, found["operator"]) if found else None
    version = operator_version(model, node) if node is not None else None
    if version is None:
        return None
    # It looks operators up by name first.
    return Unsupported(f"operator {version if found['version'] else version.rsplit('-', 1)[0]}", stable(error))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    serve(
        {
            "name": "jaxonnxruntime",
            "version": importlib.metadata.version("jaxonnxruntime"),
            "language": "Python",
            "issues": "https://github.com/google/jaxonnxruntime/issues",
        },
        run,
    )
