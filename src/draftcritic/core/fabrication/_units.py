"""Units of measure, and what a number of one is in others that people use instead."""

from __future__ import annotations

import re

DEGREES = frozenset(
    {
        *(
            "c",
            "celsius",
            "f",
            "fahrenheit",
            "degrees",
            "degree",
            "grad",
            "grados",
            "degr\u00e9s",
            "gradi",
            "graus",
            "graden",
        ),
        *(
            "grader",
            "stopni",
            "derece",
            "\u0433\u0440\u0430\u0434\u0443\u0441\u043e\u0432",
            "\u0433\u0440\u0430\u0434\u0443\u0441\u0430",
            "\u0433\u0440\u0430\u0434\u0443\u0441\u0456\u0432",
            "\u5ea6",
            "\ub3c4",
            "\u062f\u0631\u062c\u0629",
            "\u0921\u093f\u0917\u094d\u0930\u0940",
        ),
    }
)
"""Words and signs for degrees of temperature; Celsius and Fahrenheit are tried."""
_FAMILIES = {
    "hour h hr hrs ore stunden horas heures minute minutes min mins minuten minutos second seconds sec secs s day days "
    "tage d\u00edas jours giorni dias week weeks month months year years": (
        r"h(?:ou)?rs?\b|m?[hms]\b|min|sec|day|week|month|year|dur|time|period|interval|age|stund|tag|hora|heure|jour|"
        r"d\u00eda|giorn|\u65f6|\u6642|\u5206|\u5929|\uc2dc|\ubd84"
    ),
    "km kilometers kilometres mi mile miles mph m meters metres cm ft feet in inch inches": (
        r"km|mi\b|mile|mph|met(?:er|re)|[cm]?m\b|ft\b|feet|foot|inch|dist|length|height|width|depth|altitude|elevation|"
        r"range|visib|wind|speed|size|\u516c\u91cc|\u7c73"
    ),
    "kg kilograms kilos g grams lb lbs pounds": r"kg|kilo|gram|\bg\b|lbs?\b|pound|ounce|oz\b|weigh|mass",
    "l liters litres": r"l\b|lit(?:er|re)|gal|volume|capacity|tank",
    "mb gb tb kb": r"[kmgt]b|byte|size|storage|memory|ram|disk|data|usage|quota|limit",
}
_FAMILY_OF = {unit: re.compile(words) for units, words in _FAMILIES.items() for unit in units.split()}
_TEMPERATURES = re.compile(
    "temp|deg|\u00b0|feels|celsius|fahren|[cf]\\b|high|low|max|min|heat|dew|chill|warm|cold|\u6e29|\u6c14|\u6c17|\uae30\uc628|"
    "\u0442\u0435\u043c\u043f|grad|\u062d\u0631\u0627\u0631|\u0924\u093e\u092a"
)


def words_of(unit: str) -> re.Pattern[str] | None:
    """Return what a source has, in lower case, around a number that can be one of the unit, or of one like it."""
    return _TEMPERATURES if unit in DEGREES else _FAMILY_OF.get(unit)


UNITS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h", "stunden", "horas", "heures", "ore"), (60, 3600, 1 / 24)),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "minuten", "minutos"), (60, 1 / 60, 60000)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), (1000, 1 / 60, 1 / 3600)),
    **dict.fromkeys(("day", "days", "tage", "d\u00edas", "jours", "giorni", "dias"), (24, 1 / 7, 1440, 86400)),
    **dict.fromkeys(("week", "weeks"), (7,)),
    **dict.fromkeys(("month", "months"), (1 / 12,)),
    **dict.fromkeys(("year", "years"), (12, 365)),
    **dict.fromkeys(("km", "kilometers", "kilometres"), (1000, 0.621371, 1 / 3.6)),
    **dict.fromkeys(("mi", "mile", "miles", "mph"), (1.609344, 1609.344, 0.44704)),
    **dict.fromkeys(("m", "meters", "metres"), (1 / 1000, 100, 3.28084)),
    **dict.fromkeys(("cm",), (1 / 100, 10, 0.393701)),
    **dict.fromkeys(("ft", "feet"), (0.3048, 12)),
    **dict.fromkeys(("in", "inch", "inches"), (2.54, 1 / 12)),
    **dict.fromkeys(("kg", "kilograms", "kilos"), (1000, 2.204623)),
    **dict.fromkeys(("g", "grams"), (1 / 1000,)),
    **dict.fromkeys(("lb", "lbs", "pounds"), (0.453592, 16)),
    **dict.fromkeys(("l", "liters", "litres"), (1000, 0.264172)),
    **dict.fromkeys(("mb", "gb", "tb", "kb"), (1000, 1024, 1000**2, 1024**2, 1000**3, 1024**3, 1 / 1000, 1 / 1024)),
}
"""Word or sign of a unit -> factors to others."""
