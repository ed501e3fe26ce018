"""The program: its place, its environment, and calls of it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConformanceError, ProgramNotFoundError, UsageError

NAME = "onnx-conformance.exe" if os.name == "nt" else "onnx-conformance"

# Exit code of an invalid command line.
USAGE = 64

# Version of the JSON formats that this package reads.
FORMAT = 1


def program() -> str:
    """The path of the program that this package was installed with, or of one on PATH.

    Raises `ProgramNotFoundError`, a `FileNotFoundError`, where there is none.
    """
    installed = installed_program()
    if installed:
        return installed
    found = shutil.which(NAME)
    if found:
        return found
    searched = ", ".join(map(str, script_folders()))
    raise ProgramNotFoundError(
        f"{NAME} is neither in {searched} nor on PATH; install it with `{sys.executable} -m pip install onnx-conformance`"
    )


@functools.lru_cache(maxsize=None)
def script_folders() -> tuple[Path, ...]:
    """The folders of programs that pip installs."""
    of_user = sysconfig.get_path("scripts", user_scheme())
    # `pip install --target DIR` puts programs into DIR/bin.
    return Path(sysconfig.get_path("scripts")), Path(of_user), Path(__file__).resolve().parent.parent / "bin"


def installed_program() -> str | None:
    found = (folder / NAME for folder in script_folders())
    return next((str(path) for path in found if path.is_file()), None)


def user_scheme() -> str:
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    return f"{os.name}_user"


def adapters() -> Path | None:
    """The folder of the adapters that come with the program; nothing where they were not installed with it."""
    folder = Path(program()).resolve().parent.parent / "share" / "onnx-conformance" / "adapters"
    return folder if folder.is_dir() else None


def environment() -> dict[str, str]:
    """The environment for the program: its adapters run in this Python unless the environment names another."""
    return {"ONNX_CONFORMANCE_PYTHON": sys.executable, **os.environ}


def program_version() -> str:
    """The version of the program, as it prints it."""
    first = call(["--version"]).out.splitlines()[:1]
    return first[0].split()[-1] if first and first[0] else "unknown"


@dataclass(frozen=True)
class Called:
    """A call of the program that ended by itself."""

    code: int
    out: str
    err: str

    def error(self) -> str:
        """The message of the program, without the word before it."""
        return f"\n{self.err}".rpartition("\nerror: ")[2].strip()


def call(arguments: Sequence[str], *, stdin: bytes | None = None, folder: str | None = None) -> Called:
    """Runs the program to its end, with bytes on standard input, in a folder. Raises an exception if a signal ends it."""
    command = [program(), *arguments]
    try:
        if stdin is None:
            ran = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), cwd=folder, check=False
            )
        else:
            ran = subprocess.run(command, input=stdin, capture_output=True, env=environment(), cwd=folder, check=False)
    except OSError as error:
        raise ConformanceError(f"{command[0]} cannot be started: {error}") from error
    called = Called(ran.returncode, ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace"))
    if called.code < 0:
        raise ConformanceError(f"{command[0]} was ended by signal {-called.code}: {called.err.strip() or 'no message'}")
    if called.code == USAGE:
        raise UsageError(called.error())
    return called


def answer(called: Called) -> dict[str, Any]:
    """The JSON that a call printed. Raises an exception with the message of the program if there is none."""
    if not called.out.strip():
        nothing = f"{NAME} ended with {called.code} and printed nothing; are there options that write its output to a file?"
        raise ConformanceError(called.error() or nothing)
    try:
        value = json.loads(called.out)
    except json.JSONDecodeError as error:
        raise ConformanceError(f"{NAME} printed no JSON: {error}; are there options that change its output?") from error
    found = value.get("format") if isinstance(value, dict) else None
    if not isinstance(value, dict) or found != FORMAT:
        raise ConformanceError(
            f"{program()} writes format {found} of its JSON, and this package reads format {FORMAT}; "
            f"`{sys.executable} -m pip install --force-reinstall onnx-conformance` installs both of one version"
        )
    return value
