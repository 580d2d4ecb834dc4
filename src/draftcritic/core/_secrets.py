"""Recognises credentials: by the name they appear under, by the flag before them, and by what they look like."""

from __future__ import annotations

import re
from itertools import pairwise

HIDDEN = "***"
MAX_TEXT = 20_000
"""Characters of a text that are searched for credentials; a longer one is cut there."""
MAX_MESSAGE = 200
"""Characters of an error's message that are logged."""

_WORDS = frozenset(
    {
        *("key", "apikey", "token", "secret", "secrets", "password", "passwords", "passwd", "passphrase", "passcode"),
        *("pass", "pwd", "pw", "pat", "pats", "credential", "credentials", "creds", "cred", "auth", "authorization"),
        *("authentication", "bearer", "cookie", "cookies", "jwt", "signature", "sig", "sas", "header", "headers"),
        *("pin", "otp", "totp", "mfa", "dsn", "private", "pem", "salt", "nonce", "session", "sid", "userpass"),
    }
)
_PARTS = re.compile(
    r"(?:api|access|private|secret|account|auth|shared|signing|encryption|ssh|subscription|service)keys?(?![a-z])|"
    r"tokens?(?![a-z])|secret|passw|passphrase|credential|authoriz|bearer|cookie",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"tokens\Z|(?:max|min|n|num)_?(?:\w{1,24}_)?tokens?\Z", re.IGNORECASE)
"""Names that count tokens rather than give one."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_NAME = r"[A-Za-z][\w.-]{0,40}"
_SECRET_TEXT = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,8000}?(?:-----END [A-Z ]{0,40}-----|\Z)"
    r"|(?<=://)[^/\s@]{1,256}(?=@)"
    r"|\b(?i:bearer|basic|digest)\s{1,4}(?=[\w\-.~+/=]*)\S{8,4096}"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|hf|gsk|xai|nvapi|lsv2|npm|pypi|dop_v1|r8|sess|xapp|xox[abeprs]|gh[pousr]|github_pat|"
    r"glpat|whsec|shpat|SG|ya29)[-_.](?=[\w\-.]{0,256}\d)[\w\-.]{12,4096}"
    r"|(?<![A-Za-z0-9])(?:AKIA|ASIA|AIza|eyJ)[\w\-.]{12,4096}"
)
_QUERY = re.compile(r"(?<=[?&])([^=&\s]{1,80})=[^&\s]{1,4096}")
_NAMED = re.compile(
    rf"(?P<name>(?<![\w-]){_NAME})(?P<quote>[\"']?)(?P<sign>\s?[:=]\s?)(?P<value>\"[^\"\n]{{0,4096}}\"|'[^'\n]{{0,4096}}'|[^\s,;&\"'}}\]]{{1,4096}})"
)
_FLAG = re.compile(rf"(?<![\w-])(--?{_NAME})(\s|=)([^\s-]\S{{0,4095}}|-[^\s-]\S{{0,4095}})")
_PIECE = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_ALONE = re.compile(r"[A-Za-z0-9]+")
_LONG, _LONGEST_HEX = 20, 32


def is_secret_name(name: str) -> bool:
    """Whether a value under this name must not be printed, e.g. `api_key`, `GITHUB_PAT`, `--token`."""
    if _COUNTED.search(name):
        return False
    if _PARTS.search(name):
        return True
    return not _WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))


def is_secret_flag(text: str) -> bool:
    """Whether the text is a command line flag whose value is the next argument, e.g. `--token`."""
    return text.startswith("-") and "=" not in text and len(text) <= 80 and is_secret_name(text)


def masked(text: str) -> str:
    """Return the text with everything that looks like a credential replaced by `***`."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}..."
    text = _SECRET_TEXT.sub(HIDDEN, text)
    if "?" in text or "&" in text:
        text = _QUERY.sub(lambda found: HIDDEN if is_secret_name(found[1]) else found[0], text)
    if "-" in text:
        text = _FLAG.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}" if is_secret_name(found[1]) else found[0], text)
    if ":" in text or "=" in text:
        text = _NAMED.sub(_masked_value, text)
    return _PIECE.sub(lambda found: HIDDEN if _is_random(found[0]) else found[0], text)


def _masked_value(found: re.Match[str]) -> str:
    if HIDDEN in found["value"] or not is_secret_name(found["name"]):
        return found[0]
    return f"{found['name']}{found['quote']}{found['sign']}{HIDDEN}"


def _is_random(text: str) -> bool:
    """Whether the text is a long run of random signs, as keys are, and no name, path or sentence."""
    if any(_is_mixed(piece) for piece in _ALONE.findall(text) if len(piece) >= _LONG):
        return True
    text = text.strip("=-_/")
    separators = sum(not sign.isalnum() for sign in text)
    return len(text) >= _LONGEST_HEX and separators * 12 <= len(text) and _is_mixed(text)


def _is_mixed(text: str) -> bool:
    """Whether letters and digits, or cases, alternate more often than they do in words."""
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in text if sign.isalnum()]
    if "d" not in kinds or len(set(kinds)) == 1:
        return False
    return 4 * sum(one != two for one, two in pairwise(kinds)) >= len(kinds)


def error_summary(error: BaseException) -> str:
    """Return one line for the log that says what was raised: no credential, and no input of a validation error."""
    message = _validation_message(error)
    if message is None:
        try:
            message = masked(str(error))
        except Exception:
            # It is third-party code: an error that cannot be written out still has a name.
            message = "(without a message)"
    line = " ".join(message.split())
    return f"{type(error).__name__}: {line[:MAX_MESSAGE]}" if line else type(error).__name__


def _validation_message(error: BaseException) -> str | None:
    """Return what a pydantic error says of each value, without the value."""
    list_errors = getattr(error, "errors", None)
    if not callable(list_errors):
        return None
    try:
        details = list_errors(include_input=False, include_url=False, include_context=False)
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {masked(one['msg'])}" for one in details[:5])
    except Exception:
        # Some other class with that attribute.
        return None
