"""URLs and e-mail addresses of a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator

from draftcritic.core.fabrication._token import Token

_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"'`\\{}|^\]]{1,2048}|\bwww\.[^\s<>\"'`\\{}|^\]]{1,2048}", re.IGNORECASE)
# Scripts without spaces go on right behind a URL.
_FOREIGN = re.compile("[\u1100-\u11ff\u2e80-\uffef]")
_EMAIL_LOCAL = re.compile(r"[\w.+*-]{1,64}\Z")
_EMAIL_DOMAIN = re.compile(r"@([\w-]{1,63}(?:\.[\w-]{1,63}){1,6})")
_TRAILING = ".,;:!?*_~\u3002\uff0c\uff1b\uff09\u300d\u300f\u3011"


def urls(text: str) -> Iterator[Token]:
    """Yield the URLs of a draft."""
    for url in _URL.finditer(text):
        written = url[0] if url[0].isascii() else _FOREIGN.split(url[0], 1)[0]
        if ")" in written:
            written = _balanced(written)
        written = written.rstrip(_TRAILING)
        yield Token("url", url.start(), url.start() + len(written), written, written)


def _balanced(url: str) -> str:
    """Return the URL up to the bracket that opened before it."""
    depth = 0
    for at, sign in enumerate(url):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return url[:at]
    return url


def emails(text: str) -> Iterator[Token]:
    """Yield the e-mail addresses of a draft."""
    for domain in _EMAIL_DOMAIN.finditer(text):
        local = _EMAIL_LOCAL.search(text[max(0, domain.start() - 64) : domain.start()])
        if local:
            start, end = domain.start() - len(local[0]), domain.end()
            yield Token("email", start, end, text[start:end], text[start:end].lower())
