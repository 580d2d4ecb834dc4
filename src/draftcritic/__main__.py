"""`python -m draftcritic` is the command `draftcritic`."""

import sys

from draftcritic.cli import main

sys.exit(main())
