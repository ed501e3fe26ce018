"""`python -m onnx_conformance`: the command line, whose adapters run in this Python."""

import os
import subprocess
import sys

from .process import environment, program


def main() -> None:
    try:
        command = [program(), *sys.argv[1:]]
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    if os.name != "nt":
        os.execve(command[0], command, environment())
    try:
        sys.exit(subprocess.run(command, env=environment(), check=False).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
