"""Standard output of a command: any text can be printed, and a reader that leaves early is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def run_command(command: Callable[[], int]) -> int:
    """Run a command that prints.

    Args:
        command: returns the exit code.

    Returns:
        The command's exit code; 1 when the reader of standard output, such as `head`, has closed it.
    """
    for stream in (sys.stdout, sys.stderr):
        # A value may contain what the terminal's encoding cannot express; that must not end the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain again at exit about what is still buffered.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code
