"""What a library in C or C++ writes to standard output and standard error, for a runtime that gives the reason of a failure only there."""

import contextlib
import ctypes
import os
import sys
import tempfile


class Log:
    """The text that was written inside of `logged()`; complete after the block."""

    text = ""


@contextlib.contextmanager
def logged():
    """Catches what is written to the file descriptors 1 and 2 inside of the block, by C libraries, too.

        with logged() as log:
            net = cv2.dnn.readNetFromONNX(path)
        if "Unsupported operations" in log.text: ...

    What a process has written inside of the block is lost if it dies there. So the block should be short.
    """
    log = Log()
    flush()
    with tempfile.TemporaryFile() as file:
        kept = [(descriptor, os.dup(descriptor)) for descriptor in (1, 2)]
        try:
            for descriptor, _ in kept:
                os.dup2(file.fileno(), descriptor)
            yield log
        finally:
            flush()
            for descriptor, copy in kept:
                os.dup2(copy, descriptor)
                os.close(copy)
            file.seek(0)
            log.text = file.read().decode(errors="replace")


def flush():
    """Writes the buffers of Python and of the C library."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if FLUSH:
        FLUSH(None)


def c_flush():
    """`fflush` of the C library; nothing where Python cannot find it, as on Windows."""
    try:
        return ctypes.CDLL(None).fflush
    except (AttributeError, OSError, TypeError):
        return None


FLUSH = c_flush()
