"""Any Python backend that follows `onnx.backend.base.Backend`, named as MODULE or MODULE:CLASS on the command line."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from onnx.backend.base import Backend
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt
from onnx_adapter import LoadError, Unsupported, serve
from onnx_values import from_python, parse, to_python


def backend(name):
    """The backend of that name: a class or module with `prepare`."""
    module_name, _, attribute = name.partition(":")
    module = importlib.import_module(module_name)
    found = getattr(module, attribute) if attribute else module
    if not hasattr(found, "prepare"):
        candidates = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Backend)]
        candidates = [value for value in candidates if value is not Backend]
        if len(candidates) != 1:
            sys.exit(f"{name} has no `prepare`; name the class, as in {module_name}:MyBackend")
        found = candidates[0]
    return module, found


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: adapter.py MODULE[:CLASS]")
    name = sys.argv[1]
    module, found = backend(name)

    def run(path, inputs, outputs):
        try:
            model = onnx.load(path)
        except Exception as error:
            raise LoadError(str(error)) from error
        operator = model.graph.node[0].op_type if model.graph.node else "none"
        domain = (model.graph.node[0].domain if model.graph.node else "") or "ai.onnx"
        missing = f"operator {domain}/{operator}"
        if hasattr(found, "is_compatible") and not found.is_compatible(model):
            raise Unsupported(missing, "is_compatible says no")
        try:
            prepared = found.prepare(model, device="CPU")
        except BackendIsNotSupposedToImplementIt as error:
            raise Unsupported(missing, str(error) or "is not supposed to implement it") from error
        except Exception as error:
            raise LoadError(str(error)) from error
        values = [to_python(parse(port.read(), port.type), port.type) for port in inputs]
        try:
            results = prepared.run(values)
        except BackendIsNotSupposedToImplementIt as error:
            raise Unsupported(missing, str(error) or "is not supposed to implement it") from error
        names = [info.name for info in model.graph.output]
        for port in outputs:
            port.write(from_python(results[names.index(port.name)], port.type, port.name).SerializeToString())

    version = getattr(importlib.import_module(module.__name__.split(".")[0]), "__version__", "unknown")
    serve({"name": name.replace(":", "."), "version": str(version), "language": "Python"}, run)


if __name__ == "__main__":
    main()
