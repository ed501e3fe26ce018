"""What the adapters of runtimes in Python share: the protocol, values, and what is unsupported.

`serve(runtime, run)` is a whole adapter around one function; README.md has an example.
"""

import sys

if sys.version_info < (3, 9):
    sys.exit("this adapter needs Python 3.9 or newer, and python3 is %d.%d; put a newer one first on PATH" % sys.version_info[:2])

from .logs import logged
from .missing import answered, blamed_node, masked, model_of, operator_version, schema_of, stable, type_in_reader, walk, what_of
from .operators import operators
from .protocol import LoadError, Port, Unsupported, option, serve

__all__ = [
    "LoadError",
    "Port",
    "Unsupported",
    "answered",
    "blamed_node",
    "logged",
    "masked",
    "model_of",
    "operator_version",
    "operators",
    "option",
    "schema_of",
    "serve",
    "stable",
    "type_in_reader",
    "walk",
    "what_of",
]
