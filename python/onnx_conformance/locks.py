"""Locks between processes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["locked"]

# Seconds between two attempts, on systems where a process cannot wait for a lock.
PAUSE = 0.1


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Creates the file and locks it, and waits while another process has the lock. The lock of a process ends with it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                    break
                except OSError:
                    time.sleep(PAUSE)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # This ends the lock.
        os.close(descriptor)
