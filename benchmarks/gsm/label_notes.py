"""Known troubles of the labels and wordings in Apple's release and GSM8K, carried as notes on the items.

Facts from `../shared/data/KNOWN-LABEL-ISSUES.md` and `TEMPLATE-LANGUAGE.md`, section 8. A note that starts with ``label:``
means that the label of the item may be wrong; ``wording:`` that the question is ambiguous or ungrammatical while its label
stands. Reports can show results with and without the items that carry a ``label:`` note.
"""

from __future__ import annotations

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "0002": ("wording: 'how much more likely' means percentage points",),
    "0026": ("wording: every month counts as 30 days",),
    "0033": ("wording: two numbers of the question are distractors",),
    "0035": ("label: about 2 % of instances have a negative amount",),
    "0045": ("wording: spacing with or without the width of the plants is ambiguous",),
    "0050": ("label: only feet and yards are converted; other pairs of units are computed one to one",),
    "0051": ("wording: 'nearest dollar' with other currencies",),
    "0060": ("wording: every month counts as four weeks",),
    "0061": ("label: in 20 % of instances the false object is the same as the true one",),
    "0069": ("wording: neutral name with 'he'",),
    "0076": ("label: for more than three fish the weights between the second and the last are not given",),
    "0080": ("wording: prices in cents against hundreds of units spent",),
    "0091": ("wording: 'fewer than the number of' is ambiguous",),
}
_SET_NOTES: dict[str, tuple[str, ...]] = {
    "p1/0017": ("wording: the added sentence changes nothing",),
    "p1/0088": ("label: one variable stands for two quantities",),
    "p2/0008": ("wording: a fractional intermediate result in some instances",),
    "p2/0017": ("wording: the added sentence changes nothing",),
    "p2/0028": ("wording: a fractional number of beds in some instances",),
    "p2/0033": ("label: 'reducing by 5 a week' is solved as 'collects 5 a week'",),
}
# Only the published instances: those generated here are exact and never truncated.
_FLOATS = ("label: the generator's float arithmetic may have truncated the answer",)
_PUBLISHED_NOTES: dict[str, tuple[str, ...]] = {
    **{f"symbolic/{number}": _FLOATS for number in ("0019", "0030", "0049", "0080", "0084", "0094")},
    "symbolic/0032": ("label: float arithmetic gives an answer one too small in about 6 % of instances",),
    "p1/0004": ("label: truncated in about 11 % of instances",),
    "p1/0006": ("label: truncated in about 10 % of instances",),
    "p1/0018": ("label: two of the items may be the same",),
    "p1/0025": ("label: truncated in about 40 % of instances",),
    "p1/0076": ("label: truncated in about 19 % of instances",),
    "p2/0006": ("label: fractional counts of fruit, floored, in some instances",),
}
_GSM8K_ROWS: dict[int, str] = {
    39: "wording: 'four times faster' is read as four times as fast",
    184: "wording: 'how much more likely' means percentage points",
    288: "label: 3 is given, whole flagstones need 4 trucks",
    304: "wording: April counts as four weeks",
    368: "label: 18 is given, 'three times more' may mean 10",
    454: "label: 150 is given, 240 is right",
    491: "wording: two trays, asked for 'the tray'",
    952: "label: 360 is given, 1800 is right",
    984: "wording: spacing between plants of their own width",
    1035: "label: 35 is given, revised to 40",
    1038: "label: its own rationale ends in 6, the label line says 4",
    1071: "label: 251 is given, revised to 257",
    1309: "label: 2280 is given, 2180 is right",
}


def template_notes(name: str, *, published: bool = False) -> tuple[str, ...]:
    """Notes for the variants of one of Apple's templates, named ``symbolic/0042``, ``p1/0042`` or ``p2/0042``.

    `published` adds the troubles of the released instances that instances generated here do not have.
    """
    notes = _TEMPLATES.get(name.partition("/")[2], ()) + _SET_NOTES.get(name, ())
    return notes + _PUBLISHED_NOTES.get(name, ()) if published else notes


def row_notes(original_id: int) -> tuple[str, ...]:
    """Notes for a row (0-based) of GSM8K test."""
    note = _GSM8K_ROWS.get(original_id)
    return () if note is None else (note,)
