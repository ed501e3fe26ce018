"""The protocol of docs/protocol.md for tools in Python that rewrite, infer or check models.

`serve_tool(description, {"optimize": function})` is a whole adapter; README.md has an example.
"""

import json
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from onnx_conformance_adapter import Port, Unsupported, blamed_node, model_of, stable
from onnx_conformance_adapter.protocol import private_stdout, text

__all__ = ["Port", "Unsupported", "blamed_node", "model_of", "root_cause", "serve_tool"]

# A name that the module tempfile makes, in a path.
TEMPORARY = re.compile(r"[^\s'\"]*\btmp[a-z0-9_]{8}\b[^\s'\",:;)]*")


def serve_tool(description, functions):
    """Answers requests until `stop` or the end of input.

    `description` is the object that answers `start`, without `does`. `functions` has a function for each question: `convert(path, opset)`,
    and one of the path for every other, such as `check(path)`. All but `check` return a `ModelProto`. A function raises `Unsupported` if
    the tool declines. Every other exception is an error of the phase `load`.
    """
    out = private_stdout()

    def answer(message):
        out.write(json.dumps(message) + "\n")
        out.flush()

    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "stop":
            return
        if request["cmd"] == "start":
            answer({"runtime": {**description, "does": list(functions)}})
            continue
        answer({"seq": request["seq"], **outcome(request, functions)})


def outcome(request, functions):
    """Asks the tool one question. Returns the answer without its number."""
    path = request["model"]
    try:
        # Some tools write files to the current folder. The harness removes this one.
        os.chdir(Path(path).parent)
        arguments = [request["opset"]] if request["ask"] == "convert" else []
        model = functions[request["ask"]](path, *arguments)
        if request["ask"] != "check":
            write(model, request["result"])
    except KeyboardInterrupt:
        raise
    except Unsupported as error:
        return {"unsupported": {"what": error.what, "message": message(error, request)}}
    except BaseException as error:
        # Also SystemExit, and panics of tools that are written in Rust.
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return {"error": {"phase": "load", "message": message(said, request)}}
    return {"ok": True}


def write(model, result):
    if not isinstance(model, onnx.ModelProto):
        raise TypeError(f"the tool returned {'None' if model is None else type(model).__name__} instead of a model")
    Path(result).write_bytes(model.SerializeToString())


def message(error, request):
    """Returns the message of an exception without paths and addresses."""
    said = str(error).replace(request["model"], "model.onnx").replace(str(Path(request["model"]).parent) + "/", "")
    return text(TEMPORARY.sub("...", stable(said)))


def root_cause(error):
    """Returns the exception that a chain of `raise ... from` begins with."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
