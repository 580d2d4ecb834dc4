"""Tokens of a draft that need no source: examples, list numbers, well-known names and the like."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise

from draftcritic.core._lexicon import data_text
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._sources import shape_of
from draftcritic.grounding._token import CUE_WINDOW, Token
from draftcritic.grounding._tokenizer import is_list_mark

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0106\u010c\u0141\u015a\u0160\u0179\u017b\u017d\u0130\u015e"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u017f"
_NAME = re.compile(
    rf"[{_UPPER}](?<![\w@/.#-][{_UPPER}])[{_LOWER}]+(?:['\u2019-][{_UPPER}][{_LOWER}]+)?"
    rf"(?:[ ](?:(?:de|del|la|da|dos|van|von|der|di|al|bin|ben) )?[{_UPPER}](?:[{_LOWER}]+|\.)"
    rf"(?:['\u2019-][{_UPPER}][{_LOWER}]+)?){{1,4}}"
)
_CAPITALISED = f"[{_UPPER}][{_LOWER}]+"
_PART = re.compile(rf"[{_UPPER}{_LOWER}]+")
_REGULAR = (
    *("tion", "tions", "sion", "sions", "ment", "ments", "ness", "ity", "ities", "ing", "ings", "ed", "ly", "able"),
    *("ible", "ance", "ances", "ence", "ences", "ive", "ives", "ous", "ful", "less", "ism", "isms", "ical", "tional"),
    *("ional", "ary", "ories", "ship", "ward", "wards", "ology", "graphy", "ize", "ise"),
)
"""Endings of common words."""
# A language in which headings and nouns can be distinguished from names.
_ENGLISH = re.compile(
    r"\b(?:the|is|are|your|you|for|and|with|has|have|of|was|been|it|from|by|this|that|will|to)\b", re.IGNORECASE
)
_OTHER = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|f\u00fcr|mit|ein|eine|Ihre?|het|een|niet|voor|och|inte|det|som|og|ikke)\b"
)
_ROMANCE = re.compile(
    r"\b(?:je|vous|nous|une?|les|des|est|pour|dans|el|los|las|una|usted|est\u00e1|para|il|gli|che|della|per|voc\u00ea|uma|la|di|del|\u00e8|sono|"
    r"n\u00e3o|jest|si\u0119|dla|i\u00e7in|bir)\b",
    re.IGNORECASE,
)
_SAMPLE, _SHORT = 4000, 120
_LABEL_AFTER = re.compile(r"(?:\*\*|__)?\s?(?:\([^()\n]{0,40}\))?\s?(?::|\*\*|\n|\Z)|\s?[|\t]")
_LISTED = re.compile(r"(?:^|\n)[ \t>]*(?:[*\-\u2022]|\d{1,3}[.)])[ \t]+\Z")
_LIST_LINE = re.compile(r"[ \t>]*(?:[*\-\u2022]|\d{1,3}[.)])[ \t]")
_PLAIN_END = re.compile(r"\s?(?:\([^()\n]{0,40}\)|[-\u2013,]\s[^\n:]{1,40})?\s?(?:\n|\Z)")
_PEOPLE = re.compile(
    r"\b(?:passengers?|guests?|travell?ers?|attendees?|participants?|people|persons?|customers?|clients?|members?|"
    r"contacts?|employees?|patients?|users?|names?|students?|staff|team|drivers?|recipients?|invitees?|candidates?)\b"
    r"[^\n]{0,60}:\s*\Z",
    re.IGNORECASE,
)
_LINE_HEAD = re.compile(r"(?:^|\n)[ \t>*#\-\d.)|_]*\Z")
SHORTEST_PART = 3
_LISTS = ("common.txt", "known.txt", "frequent.txt")
_OTHERS = 8
"""Names of a draft that is not English for which the sources are searched."""
MAX_NAMES = 1000
"""Runs of capitalised words of one draft that are looked at."""


def names_in(text: str, grounding: Grounding) -> Iterator[Token]:
    """Return the names in an English draft of which some part is neither in a source nor a common word.

    In a turn without data a draft may name whom it wants.
    """
    judged = english = False
    others = 0
    for name in islice(_NAME.finditer(text), MAX_NAMES):
        unknown = [part for part in _PART.findall(name[0]) if _is_unknown(part.lower())]
        if not unknown:
            continue
        if not grounding.has_data:
            return
        strange = [part for part in unknown if not (grounding.quotes(part) or grounding.contains_word(part.lower()))]
        if not strange or _is_label(text, name.start(), name.end()):
            continue
        if not judged:
            judged, english = True, _is_english(text, grounding)
            others = 0 if english or not _is_romance(text) else _OTHERS
        if not english and not others:
            return
        others -= 1
        if english or _is_another(name[0], strange, grounding):
            yield Token("name", name.start(), name.end(), name[0], tuple(strange))


def is_known_name(word: str) -> bool:
    """Whether the word (in lower case) belongs to a name that everybody knows."""
    return word in _words("known.txt")


def _is_unknown(word: str) -> bool:
    known = _listed_words()
    return not (
        len(word) < SHORTEST_PART or word in known or word.removesuffix("s") in known or word.endswith(_REGULAR)
    )


@cache
def _listed_words() -> frozenset[str]:
    return frozenset[str]().union(*map(_words, _LISTS))


def _is_label(text: str, start: int, end: int) -> bool:
    """Whether the words are a heading, or the label before a value; a person in a list of people is neither."""
    listed = _LISTED.search(text[max(0, start - 24) : start])
    if listed and _PLAIN_END.match(text, end) and _lists_people(text, max(0, start - 24) + listed.start()):
        return False
    heads = _LINE_HEAD.search(text[max(0, start - 24) : start]) is not None
    return heads and _LABEL_AFTER.match(text, end) is not None


def _lists_people(text: str, at: int) -> bool:
    """Whether the list around the line that ends at `at` is introduced as one of people."""
    lines = text[max(0, at - 600) : at].splitlines()
    while lines and (not lines[-1].strip() or _LIST_LINE.match(lines[-1])):
        lines.pop()
    return bool(lines) and _PEOPLE.search(lines[-1]) is not None


def _is_romance(text: str) -> bool:
    """Whether the draft is in a language that begins few words but names with a capital."""
    sample = text[:_SAMPLE]
    return _OTHER.search(sample) is None and _ROMANCE.search(sample) is not None


def _is_another(name: str, strange: Sequence[str], grounding: Grounding) -> bool:
    """Whether a source continues the known part of the name differently: `Joana Teles` for `Joana Reis`."""
    words = name.split(" ")
    for one, two in pairwise(words):
        known = two if one in strange else one if two in strange else ""
        if known and known not in strange and grounding.quotes(known):
            other = rf"{re.escape(one)} {_CAPITALISED}" if known == one else rf"{_CAPITALISED} {re.escape(two)}"
            if re.search(rf"(?<!\w){other}(?!\w)", grounding.text):
                return True
    return False


def _is_english(text: str, grounding: Grounding) -> bool:
    sample = text[:_SAMPLE]
    if _OTHER.search(sample):
        return False
    if _ENGLISH.search(sample):
        return True
    # Too short to decide, in an English conversation.
    return len(sample) < _SHORT and not _ROMANCE.search(sample) and _ENGLISH.search(grounding.user_text) is not None


@cache
def _words(file: str) -> frozenset[str]:
    lines = data_text("draftcritic.grounding", "data/names", file).splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split())


_EXAMPLE = re.compile(
    r"(?:e\.g\.|for example|such as|example:|format|p\. ?ej\.|z\. ?B\.|ex\.)[\s\"'`(:,]*\Z", re.IGNORECASE
)
_EXAMPLE_NAME = re.compile(
    r"(?:e\.g\.|for example|for instance|p\. ?ej\.|z\. ?B\.|par ex(?:\.|emple)|por ejemplo|por exemplo)[\s\"'`(:,]*"
    r"(?:(?:\w+(?: \w+){0,3}, ?){0,3}\w+(?: \w+){0,3},? (?:or|and|o|ou|oder|y|e|et|und) )?\Z",
    re.IGNORECASE,
)
_PEOPLE_ignorable = re.compile(
    r"\b(?:passenger|guest|customer|user|person|attendee|contact|employee|patient|agent|driver)s?\b", re.I
)
_CALLING_CODE = re.compile(
    r"(?:1|7|2[07]|2[1-689]\d|3[0-469]|3[578]\d|4[013-9]|42\d|5[1-8]|5[09]\d|6[0-6]|6[7-9]\d|"
    r"8[1246]|8[058]\d|9[0-58]|9[679]\d)"
)
_CALLING_CUE = re.compile(
    r"\b(?:country|calling|dial\w*|area|international|phone|mobile)\b|\bcodes?\b|\bprefix\w*|\b(?:phone )?numbers?\b|"
    r"\bvorwahl\w*|\bindicatif\b|\bpréfixe?\b|\bprefijo\b|\bprefisso\b|\blandnummer\b|\bprefixo\b|\bcódigo\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```")
_VALUES = frozenset({"number", "percentage", "time"})
_WHOLE = frozenset({"url", "email", "phone", "reference", "hash"})
# A maker's name for a product, a standard, a disease: a word and at most a few digits, or a few signs in all.
_PRODUCT = re.compile(
    r"\d(?:-\d){1,4}|[A-Za-z]{2,}[-+]?\d{1,2}[A-Za-z+]{0,2}|[A-Za-z]{2,3}-\d{1,2}[a-z.]{0,2}|[A-Z]?\d[A-Za-z]{1,3}|\d{1,4}[a-z]{1,4}|\d{2,4}p|"
    r"v?\d{1,2}(?:\.\d{1,3}){1,3}|(?:ISO|RFC|IEEE|SHA|UTF|MP|HTTP|IPv|ES|EC|WCAG|GPT|RTX|GTX|AES|RSA)[-_ ]?\d+[\w.:-]*"
)
_CUE = re.compile(
    r"(?:\bids?|\bcode|\bnumber|\bno\.|#|\bref(?:erence)?|\border|\bticket|\btracking|\bconfirmation|\breservations?|\bbooking|"
    r"\bflight|\binvoice|\baccount|\bcase|\bserial|\bsku|\bpnr|\bkey|\btoken|\buser(?:name)?|\bpassword|\bcoupon|\bvoucher|"
    r"\btransaction|\bpolicy|\bpedido|\breserva|\bcommande|\bbestell\w*|\bbuchung\w*|\bordine|\bnummer|\bn\u00famero|\bnum\u00e9ro|"
    r"\u7f16\u53f7|\u8ba2\u5355|\u756a\u53f7|\u53f7|\ubc88\ud638|\u043d\u043e\u043c\u0435\u0440|\u0437\u0430\u043a\u0430\u0437)"
    r"[^\n\d]{0,16}\Z",
    re.IGNORECASE,
)
_LONGEST_PRODUCT = 4
_EXAMPLE_WIDTH = 120
"""Characters before a name that are searched for `e.g.` and the names between."""
_CALLING_WIDTH = 40
"""Characters around a country's calling code that are searched for a word such as `prefix`."""
_COUNTRIES = frozenset({"UK", "US", "USA", "UAE"})
_LAST_WORD = re.compile(r"([^\W\d_]+)\W{1,4}\Z")
_NEXT_WORD = re.compile(r"\W{1,4}(?:for |is |in )?([^\W\d_]+)")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_LONGEST_IN_NAME = 3
_WORD_BEFORE = re.compile(r"([A-Z][A-Za-z]+) \Z")
_RESOLUTIONS = frozenset({"480", "720", "1080", "1440", "2160"})
_USUAL_TERMS = frozenset({"10", "12", "14", "15", "24", "30", "45", "48", "60", "72", "90"})
_TERM_UNITS = frozenset(
    {
        *("hour", "hours", "hr", "hrs", "business", "working", "day", "days", "minute", "minutes", "min", "mins"),
        *("seconds", "stunden", "tage", "horas", "d\u00edas", "heures", "jours"),
    }
)
_TERM = re.compile(
    r"\b(?:within|in|allow|takes?|typically|usually|normally|up to|about|around|every|last|for|next|dentro de|sous|"
    r"dans|innerhalb von|binnen)(?: the)?(?: \w{1,12})?(?: \d{1,2}(?: to |\s?[-\u2013/]\s?))?\s?\Z",
    re.IGNORECASE,
)
_KNOWN_PAIRS = frozenset({"24/7", "50/50", "9/11", "20/20", "80/20"})
_KNOWN = re.compile(r"(?:24/7|50/50|9/11|20/20|80/20|911|365|360|100 ?%)(?![\w/]|\.\d)|40[13]\s?\(")
_BOOK = re.compile(
    r"(?:^|[^\w])(?!(?:At|From|Until|By|To|Before|After|Around|And|On|Time|Departure|Arrival|Start|End|Departs|Arrives|Um|"
    r"Las|A|Alle|Von|Bis|Ab|The|Your|Our|My|This|That|Next|First|Last|Is|Are|It|Or|Then|Not|Open|Opens|Close|Closes|"
    r"Leave|Leaves|Today|Tomorrow|Tonight|\w+day|Train|Flight|Bus|Check|Meeting|Now|Only|For|Between|Till|Since|Daily)\b)"
    r"[A-Z][a-z]+ \Z"
)
_GROUPS_BEFORE = re.compile(r"(?:\b[A-Z]{0,4}\d[A-Z\d]{1,5} )+\Z")
_GROUPS_AFTER = re.compile(r"(?: [A-Z\d]{2,6}\b){0,12}")
_SHORTEST_GROUPS = 12
_GLUED = re.compile(r"\d+(?:[-/:.,]\w*\d\w*)+")
_LENGTH = re.compile(r"(\d{1,3}):([0-5]\d)")
_GLUED_BEFORE = re.compile(r"\d+[-/:.,x]\d+\Z")
_LENGTH_AFTER = re.compile(r"\s?\(?(?:long|min(?:utes?)?|hours?|hrs?|remaining|duration)\b", re.IGNORECASE)
_TO_HOUR = re.compile(r"\s?(?:to|and|or|a|-|\u2013|bis|until|till)\s?\d{1,2}(?::\d\d)?\s?[ap]\.?m\b", re.IGNORECASE)


def is_ignorable(token: Token, text: str, grounding: Grounding) -> bool:
    """Whether the token states no fact: a list number, a verse, a phrase such as 24/7, an example of a format."""
    if _EXAMPLE.search(text[max(0, token.start - 24) : token.start]):
        return True
    if token.kind in _WHOLE:
        return token.kind == "reference" and _is_product(token, text, grounding)
    if _KNOWN.match(text, token.start) or text[max(0, token.start - 3) : token.end] in _KNOWN_PAIRS:
        return True
    if token.kind == "time":
        return _is_verse(token, text) or _LENGTH_AFTER.match(text, token.end) is not None
    if token.kind != "number":
        return False
    return (
        _is_calling_code(token, text)
        or _is_joined_value(token, text, grounding)
        or _is_hour_of_range(token, text)
        or _is_general(token, text)
        or _is_part_of_name(token, text)
        or _is_day_of_month(token, grounding)
        or _is_code_group(token, text, grounding)
    )


def is_example_name(token: Token, text: str) -> bool:
    """Whether the name is an example of an answer, such as `a city, e.g. Porto Alegre`. Persons are never examples."""
    line = text[max(0, token.start - _EXAMPLE_WIDTH, text.rfind("\n", 0, token.start) + 1) : token.start]
    return _EXAMPLE_NAME.search(line) is not None and _PEOPLE_ignorable.search(line) is None


def is_trivial(token: Token, text: str, fences: Sequence[int] = ()) -> bool:
    """Whether the token is a number that is not worth a look: one digit, the mark of an item, or code in a fence."""
    if len(fences) > 1 and bisect_right(fences, token.start) % 2:
        colour = token.kind == "reference" and text[token.start - 1 : token.start] == "#"
        if colour or token.kind in _VALUES:
            return True
    return token.kind == "number" and (
        (len(token.text) == 1 and token.text.isdigit()) or (len(token.text) <= 4 and is_list_mark(text, token))
    )


def code_fences(text: str) -> list[int]:
    """Return the positions of the fences of code blocks, in order."""
    return [fence.start() for fence in _FENCE.finditer(text)] if "```" in text else []


def sequential_numbers(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the starts of numbers that only count on, such as those of verses: 11 ... 12 ... 13."""
    numbers = [token for token in tokens if token.kind == "number" and token.text.isdigit() and len(token.text) <= 3]
    runs: set[int] = set()
    for one, two, three in zip(numbers, numbers[1:], numbers[2:], strict=False):
        if int(one.text) + 2 == int(two.text) + 1 == int(three.text):
            runs.update((one.start, two.start, three.start))
    return frozenset(runs)


def has_cue(token: Token, text: str) -> bool:
    """Whether the words before the token say that it identifies something."""
    return _CUE.search(text[max(0, token.start - CUE_WINDOW) : token.start]) is not None


def _is_product(token: Token, text: str, grounding: Grounding) -> bool:
    """Whether the code can be the name of a product or a standard, and nothing says that it identifies a record."""
    if not _PRODUCT.fullmatch(token.text) or has_cue(token, text):
        return False
    written = token.text
    if not (written.isalnum() and written.isupper() and len(written) > _LONGEST_PRODUCT):
        return True
    # It is a code when records of the turn have codes of the same shape.
    return len(written) not in grounding.code_lengths and shape_of(written) not in grounding.code_shapes


def _is_verse(token: Token, text: str) -> bool:
    """Whether `Ephesians 6:10` is a place in a book, or a score, and no time of day."""
    if not token.text[-1].isdigit() or token.text[0] == "0":
        return False
    return _BOOK.search(text[max(0, token.start - 20) : token.start]) is not None


def _is_code_group(token: Token, text: str, grounding: Grounding) -> bool:
    """Whether the number is a group of a code that a source writes in one piece, as that of an account."""
    if not (text[token.start - 2 : token.start].strip().isalnum() or text[token.end : token.end + 2].strip().isalnum()):
        return False
    if text[token.start - 1 : token.start] != " " and text[token.end : token.end + 1] != " ":
        return False
    before = _GROUPS_BEFORE.search(text[max(0, token.start - 40) : token.start])
    after = _GROUPS_AFTER.match(text, token.end)
    groups = (before[0] if before else "") + token.text + (after[0] if after else "")
    return (
        groups.count(" ") > 1 and len(groups) >= _SHORTEST_GROUPS and grounding.contains_compact(groups.strip().lower())
    )


def _is_calling_code(token: Token, text: str) -> bool:
    """Whether the number is the calling code of a country, such as +49, with a word for it or a country next to it."""
    code = token.text.removeprefix("00")
    if (code == token.text and text[token.start - 1 : token.start] != "+") or not _CALLING_CODE.fullmatch(code):
        return False
    before = text[max(0, token.start - _CALLING_WIDTH) : token.start]
    after = text[token.end : token.end + _CALLING_WIDTH]
    if _CALLING_CUE.search(before.rpartition("\n")[2]) or _CALLING_CUE.search(after.partition("\n")[0]):
        return True
    words = (_LAST_WORD.search(before), _NEXT_WORD.match(after))
    return any(word is not None and (word[1] in _COUNTRIES or is_known_name(word[1].lower())) for word in words)


def _is_joined_value(token: Token, text: str, grounding: Grounding) -> bool:
    """Whether a source contains the value that the number is a part of, such as 120/80."""
    glued = _GLUED.match(text, token.start)
    if glued is None:
        glued = _GLUED_BEFORE.search(text[max(0, token.start - 16) : token.end])
    if glued is None:
        return False
    if grounding.contains(glued[0].lower()):
        return True
    # A duration in minutes and seconds.
    parts = _LENGTH.fullmatch(glued[0])
    return parts is not None and str(60 * int(parts[1]) + int(parts[2])) in grounding.numbers


def _is_hour_of_range(token: Token, text: str) -> bool:
    """Whether the number is the first time of `from 12 to 1 pm`."""
    return token.text.isdigit() and int(token.text) <= 24 and _TO_HOUR.match(text, token.end) is not None


def _is_general(token: Token, text: str) -> bool:
    """Whether the number is a usual term (`within 24 hours`), part of a period (`21st century`) or format (`1080p`)."""
    if token.unit == "p" and token.text in _RESOLUTIONS:
        return True
    if token.unit in _ORDINALS and text.startswith(" century", token.end + len(token.unit)):
        return True
    return (
        token.text in _USUAL_TERMS
        and token.unit in _TERM_UNITS
        and _TERM.search(text[max(0, token.start - 32) : token.start]) is not None
    )


def _is_part_of_name(token: Token, text: str) -> bool:
    """Whether the number belongs to a name that everybody knows: Boeing 737, Windows 11, Psalm 23."""
    if len(token.text) > _LONGEST_IN_NAME:
        return False
    before = _WORD_BEFORE.search(text[max(0, token.start - 24) : token.start])
    return before is not None and is_known_name(before[1].lower())


def _is_day_of_month(token: Token, grounding: Grounding) -> bool:
    """Whether `the 21st` is the day of a date in a source."""
    if token.unit not in _ORDINALS or not token.text.isdigit() or int(token.text) > 31:
        return False
    return int(token.text) in grounding.all_day_numbers
