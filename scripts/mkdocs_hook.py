"""Make links to files of the repository safe for the documentation site.

Pages in `docs/` link to files outside it, which works on the repository's host. The site has no such files, so the
link becomes plain text. A link to a file that does not exist fails the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>(?:\.\./)+[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Replace links that lead out of the documentation folder by their text."""
    docs = Path(config["docs_dir"]).resolve()
    folder = Path(page.file.abs_src_path).parent

    def replaced(match: re.Match[str]) -> str:
        target = (folder / match["target"]).resolve()
        if not target.exists():
            raise PluginError(f"{page.file.src_uri} links to {match['target']}, which does not exist")
        return match[0] if target.is_relative_to(docs) else match["text"]

    return _LINK.sub(replaced, markdown)
