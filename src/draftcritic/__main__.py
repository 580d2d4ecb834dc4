"""`python -m draftcritic` is the command `draftcritic`."""

import sys

from draftcritic.cli._main import main

sys.exit(main())
