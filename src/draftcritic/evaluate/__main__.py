"""Runs the evaluation as a command."""

import sys

from draftcritic.evaluate._command import main

if __name__ == "__main__":
    sys.exit(main())
