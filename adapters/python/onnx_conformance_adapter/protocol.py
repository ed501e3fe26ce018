"""The protocol of docs/protocol.md for runtimes that are called from Python.

An adapter gives `serve` a description and a function; this module reads requests, hands over bytes, and writes answers.
Values stay ONNX's own protobuf messages until the adapter itself turns them into something else.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass


class Unsupported(Exception):
    """The runtime does not have something that the standard has."""

    def __init__(self, what, message):
        super().__init__(message)
        self.what = what


class LoadError(Exception):
    """The runtime refused the model while it read or prepared it."""


@dataclass
class Port:
    """An input or output of the graph."""

    name: str
    type: str
    path: str

    def read(self):
        with open(self.path, "rb") as file:
            return file.read()

    def write(self, data):
        with open(self.path, "wb") as file:
            file.write(data)


def private_stdout():
    """The stream of the protocol. What libraries print to standard output goes to standard error instead."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stream


def option(name, values):
    """The value of an option on the command line, `--name VALUE`: one of these, the first by default."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{name}", default=values[0], choices=values)
    return getattr(parser.parse_args(), name)


def serve(runtime, run, optimize=None):
    """Answers requests until `stop` or the end of input.

    `runtime` is the object that answers `start`. `run(model_path, inputs, outputs)` writes each output to its file, raises
    `Unsupported` or `LoadError`, or anything else for a failure while running. `optimize(model_path)`, if there is one, returns the
    operators after optimization, and those before it if they are not the model's: `{"before": {...}, "after": {...}}`.
    """
    out = private_stdout()
    if optimize:
        runtime = {**runtime, "optimize": True}

    def answer(message):
        out.write(json.dumps(message) + "\n")
        out.flush()

    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "stop":
            return
        if request["cmd"] == "start":
            answer({"runtime": runtime})
            continue
        seq = request["seq"]
        if request["cmd"] == "optimize":
            try:
                answer({"seq": seq, "operators": optimize(request["model"])})
            except Exception as error:
                answer({"seq": seq, "unknown": text(error)})
            continue
        inputs, outputs = ([Port(**port) for port in request[kind]] for kind in ("inputs", "outputs"))
        try:
            run(request["model"], inputs, outputs)
            answer({"seq": seq, "ok": True})
        except Unsupported as error:
            answer({"seq": seq, "unsupported": {"what": error.what, "message": text(error)}})
        except LoadError as error:
            answer({"seq": seq, "error": {"phase": "load", "message": text(error)}})
        except Exception as error:
            answer({"seq": seq, "error": {"phase": "run", "message": text(error)}})


def text(error):
    """What an exception says, short enough for a line, without what differs from run to run."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said[:2000]
