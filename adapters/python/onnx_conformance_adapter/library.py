"""A runtime in C or C++ with a Python binding, whose messages and log say what it does not have."""

import re

from .logs import logged
from .missing import answered
from .protocol import LoadError, serve
from .values import read, require_tensors, write


class Library:
    """What is to be known about a runtime and its binding.

    about       the object that answers `start`, without the version of the binding
    binding     the module that is imported
    types       the element types that the binding has arrays of, by the runtime's names: {"CV_32F": "float"}. A name that the module does
                not have is left out: another version has it
    lacks       patterns of messages about a missing feature, as `what_of` describes them
    reason      a pattern of the reason in a longer message or log; its last group is the reason
    noise       a pattern of text to leave out of messages, such as folders of the build
    narrowed    the types that the binding converts, {"int64": "int32"}: an input that would change is `Unsupported`
    """

    def __init__(self, about, binding, types, lacks, reason=None, noise=None, narrowed=None):
        self.about, self.module = {**about, "version": binding.__version__}, f"the module {binding.__name__}"
        self.types = {theirs: name for theirs, name in types.items() if hasattr(binding, theirs)}
        self.lacks, self.reason, self.noise, self.narrowed = lacks, reason, noise, narrowed or {}

    def serve(self, steps):
        """Answers requests by a generator function with two steps:

            def run(path, inputs, outputs):
                net = my_runtime.load(path)
                yield net is not None                       # loaded; if not, the log has the reason
                for name, value in inputs:
                    net.set_input(name, value)
                yield [net.output(name) for name in outputs]

        What the library writes until the first `yield` is caught. An exception until there is a `LoadError`, and a later one an error of
        the run; either is `Unsupported` if its message names a missing feature.
        """
        serve(self.about, lambda path, inputs, outputs: self.run(steps, path, inputs, outputs))

    def run(self, steps, path, inputs, outputs):
        ports = inputs + outputs
        require_tensors(ports, self.types.values(), self.module)
        given = ((port.name, read(path, port, self.narrowed)) for port in inputs)
        running = steps(path, given, [port.name for port in outputs])
        with answered(LoadError, path, ports, self.lacks, self.types, self.short):
            with logged() as log:
                is_loaded = next(running)
            if not is_loaded:
                raise RuntimeError(log.text)
        with answered(RuntimeError, path, ports, self.lacks, self.types, self.short):
            write(outputs, next(running))

    def short(self, said):
        """The reason in a message, with the names of operators in quotes: messages that differ in quoted names are one cause."""
        found = re.search(self.reason, said) if self.reason else None
        said = found[found.lastindex] if found else said
        for pattern in self.lacks:
            if "(?P<operator>" in pattern:
                said = re.sub(pattern, quoted, said)
        return re.sub(self.noise, "", said) if self.noise else said


def quoted(found):
    """A match whose group is in quotes."""
    start, end = (place - found.start() for place in found.span("operator"))
    before, name, after = found[0][:start], found[0][start:end], found[0][end:]
    return found[0] if before.endswith(("'", '"')) else f"{before}'{name}'{after}"
