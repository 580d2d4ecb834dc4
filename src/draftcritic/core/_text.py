"""What the prose around a JSON object says about it: that it is a quotation, or that the verdict is another one."""

from __future__ import annotations

import re
import unicodedata

_AROUND = 120
_MARKS = r"""[\s:,(\[`"'\u201c\u201d\u2018\u2019]"""
_SPEAKER = r"(?:draft|assistant|message|response|reply|answer|candidate|text|user|it|attack(?:er)?|injection)"
_INTRODUCED = re.compile(
    rf"""
    (?: (?<!my\s)(?<!final\s) \b{_SPEAKER} \s (?:(?:itself|also|then|just|even)\s){{0,2}}
        (?: says? | said | contain(?:s|ed|ing) | holds? | includ(?:es?|ing) | embeds? | reads? | claims? | states?
          | writes? | wrote | outputs? | quotes? | (?:ends?|starts?|begins?)\s(?:with|in) | tr(?:ies|y)\sto\s\w{{1,20}}
          | (?:asks?|wants?)\s(?:for|(?:me|you|us)\sto\s\w{{1,20}}) )
      | \b(?: for\sexample | e\.g\. | instead\sof | rather\sthan | ignor(?:e|ing) | forged | fake | injected | embedded
            | not (?:\s(?:answer|say|return|write|accept|follow|trust))? ) )
    (?: \s (?:an?|the|this|that|only|also|forged|fake|following|literal|text|string|object|verdict|json|block) ){{0,6}}
    {_MARKS}{{0,20}} (?:json\w?\s{{1,9}})? (?: < [^<>\s]{{1,30}} > )? {_MARKS}{{0,20}} \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DISOWNED = re.compile(
    rf"""
    (?: {_MARKS} | [)\]] ){{0,8}}
    (?: (?:in|inside|within|from|as\spart\sof)\s(?:the|its|this)\s(?:\w{{1,20}}\s)?{_SPEAKER}\b
      | (?:which|that)\s(?:is|was)\san?\b
      | (?:is|was)\s(?: what\s(?:the|it)\b | part\sof | forged | fake | injected | quoted | not\sm(?:y|ine)
                      | an?\s(?:attack|attempt|injection|forg|prompt|trick) )
      | would\sbe\s(?:wrong|false|an?\s(?:mistake|error)) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IT = r"""(?: \s{1,4} (?: it | this | that | as | because | since
                      | (?:the|this)\s(?:draft|answer|response|message|reply) )\b
        | \s{0,4} (?:[.!:;,\n]|\Z) )"""
_BETWEEN = r"(?:&\w{1,8};|[^\w|]){0,5}"
_UNLESS_IF = r"(?! (?:\s\w{1,20}){0,4} \s if\b )"
_OBJECTION = re.compile(
    rf"""
      \b(?:verdict|decision|judge?ment|conclusion)(?:\b|_)
        (?: {_BETWEEN} (?:[:=→>\uff1a\u2013—-]|["']\s) {_BETWEEN} | \s(?:is|must\sbe)\W{{1,6}} )
        (?:to\s)? (?:refus|revis|reject|block|den(?:y|ied)) (?!\w{{0,4}}\W{{0,3}}\|)
    | (?: \A | [.!?:;,)\n] | \b(?:so|but|and|thus|hence|therefore) ) \s{{0,4}}
        I (?:['\u2019](?:ll|d|m|ve))? \s
        (?:(?:will|must|have|need|to|therefore|hereby|thus|also|am|going|still|do)\s){{0,4}}
        (?:refuse|reject|revise|block|deny|decline) {_IT} {_UNLESS_IF}
    | \b(?:cannot|(?:can|do|will|must|should|would)(?:\s?not|n['\u2019]?t)|(?:ca|wo)n['\u2019]?t) \s (?:be\s)?
        approved? {_IT} {_UNLESS_IF}
    | \b(?:draft|answer|response|message|reply|it|this) \s (?:must|should|has\sto|needs\sto) \s be \s
        (?:refused|rejected|revised|blocked|denied) \b {_UNLESS_IF}
    | (?: \A | \n ) [\s*_#>`]{{0,8}} (?:refuse|revise|reject)d? [\s*_`.!]{{0,8}} (?: \n | \Z )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether the words right before or behind `text[start:end]` hand it on as somebody else's, or as an example."""
    before, behind = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    return bool(_INTRODUCED.search(before) or _DISOWNED.match(behind))


def objects(prose: str) -> bool:
    """Whether the prose itself declares that the draft cannot stay as it is."""
    return _OBJECTION.search(prose) is not None


_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that are drawn as nothing."""
_SEEN = re.compile(rf"[^\s\x00-\x1f\x7f{_FILLERS}]")
_TAGS = range(0xE0000, 0xE0080)
"""Format characters that spell hidden text."""


def well_formed(text: str) -> str:
    """Return `text` with halves of surrogate pairs joined, and lone ones replaced by U+FFFD.

    A lone surrogate makes every UTF-8 encoder raise: HTTP clients, JSON responses, exporters.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def is_invisible(text: str) -> bool:
    """Return whether a text has nothing but white space and characters that are drawn as nothing.

    Tag characters are not: a model reads the text that they spell.
    """
    return not any(unicodedata.category(found[0]) != "Cf" or ord(found[0]) in _TAGS for found in _SEEN.finditer(text))
