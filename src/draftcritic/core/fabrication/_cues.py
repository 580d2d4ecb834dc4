"""The words by which a draft says that a number is worked out, and those by which it says that it is an identifier."""

from __future__ import annotations

import re

_SUM_WORDS = (
    r"\b(?:total|totals|totall?ing|sum|altogether|combined|overall|in all|out of|makes?|comes? to|adds? up|subtotal|"
    r"totale|totaal|totalt|sammanlagt|\u0142\u0105cznie|toplamda|\u0432\u0441\u044c\u043e\u0433\u043e|"
    r"suma|somme|gesamt\w*|insgesamt|summe|zusammen|samen|en tout|en todo|razem|toplam|wynosi|"
    r"\u0438\u0442\u043e\u0433\u043e|"
    r"\u0432\u0441\u0435\u0433\u043e|\u0440\u0430\u0437\u043e\u043c|\u0441\u0443\u043c\u043c\u0430)\b|"
    "[\u5408\u603b\u7e3d\u8a08\u8ba1\u5171]|\ud569\uacc4|\ucd1d|\u0645\u062c\u0645\u0648\u0639|"
    '\u0625\u062c\u0645\u0627\u0644\u064a|\u0915\u0941\u0932|\u05e1\u05d4"?\u05db'
)
SUM = re.compile(_SUM_WORDS, re.IGNORECASE)
"""A number is a sum."""
SUM_OF_PRICES = re.compile(
    _SUM_WORDS
    + r"|\b(?:amount|costs?|both|all|each|per|every|charged?|pay|paid|balance|owed?|due|available|refund(?:ed)?)\b",
    re.IGNORECASE,
)
"""An amount of money is a sum or a multiple."""
TOTAL = re.compile(r"total|gesamt|summe|suma|somme|\u5408\u8ba1|\u5408\u8a08|\u0438\u0442\u043e\u0433", re.IGNORECASE)
"""An amount is the whole of which others are parts."""
# A sum that is left, and no train.
_LEAVES = r"leav(?:es?|ing)(?= (?:you|us|him|her|them|an?|the|only|about|just|\W{0,2}\d))"
DIFFERENCE = re.compile(
    rf"\b(?:{_LEAVES}|difference|differ|remain\w*|left|rest|balance|refund\w*|sav(?:e|ed|es|ing|ings)|less|more|"
    r"additional\w*|extra|minus|reduced|discount\w*|increase\w*|decrease\w*|change|still|cheaper|short|deduct\w*|"
    r"bleib\w*|rimang\w*|resta\w*|sobra\w*|blijf\w*|kvar|\u00e5terst\u00e5r|zosta\w*|pozosta\w*|kal\u0131r|"
    r"spar\w*|rabatt|\u00e9conom\w*|remise|risparm\w*|sconto|desconto|descuento|econom\w*|bespaar\w*|korting|"
    r"oszcz\u0119d\w*|zni\u017ck\w*|indirim\w*|\u044d\u043a\u043e\u043d\u043e\u043c\w*|\u0441\u043a\u0438\u0434\u043a\w*|\u0437\u043d\u0438\u0436\u043a\w*|"
    r"interest|profit|gain\w*|loss|margin|net|down|rise|rose|up(?! to)|dropp?\w*|fell|grew|grown|gap|"
    r"shortfall|surplus|deficit|diferencia|diferen\u00e7a|diff\u00e9rence|restant\w*|reste|resto|quedan?|ahorr\w+|differenz|\u00fcbrig|"
    r"verbleib\w*|rimanent\w*|verschil|kalan|\u0440\u0430\u0437\u043d\u0438\u0446\w*|"
    r"\u043e\u0441\u0442\u0430\u043b\w*|\u043e\u0441\u0442\u0430\u0442\w*)\b|"
    "[\u5dee\u5269\u4f59\u6b8b\u51cf\u60e0]|\u5272\u5f15|\u5024\u5f15|\ud560\uc778|\ucc28\uc561|\ub0a8|\u0641\u0631\u0642|\u0645\u062a\u0628\u0642|\u0936\u0947\u0937",
    re.IGNORECASE,
)
"""A number is what is between two others."""
REMAINDER = re.compile(
    rf"\b(?:{_LEAVES}|difference|remain\w*|left|diferencia|diferen\u00e7a|diff\u00e9rence|restant\w*|reste|quedan?|"
    r"differenz|verbleib\w*|rimanent\w*|verschil|\u0440\u0430\u0437\u043d\u0438\u0446\w*|"
    r"\u043e\u0441\u0442\u0430\u043b\w*)\b|"
    "[\u5dee\u5269\u4f59\u6b8b]|\ucc28\uc561|\ub0a8",
    re.IGNORECASE,
)
"""The same, in words that say nothing else."""
AVERAGE = re.compile(
    r"\b(?:average|mean|avg|per|each|promedio|media|moyenne|durchschnitt\w*|gemiddeld\w*|m\u00e9dia|"
    r"\u0432 \u0441\u0440\u0435\u0434\u043d\u0435\u043c)\b|"
    "\u5e73\u5747|\ud3c9\uade0|\u0645\u062a\u0648\u0633\u0637",
    re.IGNORECASE,
)
"""A number is a part of several equal ones."""
EQUATION = re.compile(r"=\s*[^\d\s]{0,4}\s*\Z")
"""The draft writes the calculation out, before the number."""
IDENTIFIER = re.compile(
    r"(?:\bids?|\bcode|\bnumber|\bno\.|#|\bending(?: in)?|\bpin|\bzip)[^\w]*(?:is|are|in)?[^\w]*\Z", re.IGNORECASE
)
"""The number names something, and is not worked out."""
MONEY = re.compile(
    r"price|cost|fare|amount|total|fee|rate|value|paid|pay|balance|charge|tax|money|bill|budget|sum|spend|spent|credit|debit|"
    r"refund|salary|income|revenue|sales|usd|eur|\u4ef7|\u8d39|\u91d1|\u6599|\uac00\uaca9|\uc694\uae08",
    re.IGNORECASE,
)
"""The name of a field that holds an amount of money."""
AMOUNT = re.compile(
    r"(?:[$\u20ac\u00a3]|(?i:amount|balance|total|credit|limit|paid|budget)[\"']?\s*:\s*[\"']?)(\d{1,9}(?:[.,]\d{1,3})*)"
)
"""An amount of money in a source."""
