"""The invented words of batch Q3: `marmal` and `wusp`, as in the study, unless a seed asks for others."""

from __future__ import annotations

import random

from variantbench.benchmarks.logic.figures import Adjective, Shape
from variantbench.benchmarks.logic.wording import Lexicon

DEFAULT_WORDS = ("marmal", "wusp")

# Read one by one: none is an English word or the beginning of a figure's name.
_WORDS = (
    "brimmel", "clavot", "dorvel", "drasp", "eskrim", "fendrot", "flurn", "glorpet", "grobbin", "hurvel", "ilgrap",
    "jandor", "jelvik", "kemtol", "klarn", "lomvir", "lurptin", "mopril", "nembit", "nuskel", "obrin", "ostrep",
    "pandrul", "plimsor", "quorbin", "relvok", "rundap", "skemmin", "slorp", "snarvel", "tavrik", "trosk", "ulvem",
    "umbrik", "vadrel", "velnor", "wendrop", "wolvin", "yarmit", "yondrel", "zastor", "zimbrel",
)  # fmt: skip


def invented_names(rng: random.Random | None = None) -> Lexicon:
    """Invented names for triangle and square: the default pair, or a pair drawn with `rng`."""
    words = DEFAULT_WORDS if rng is None else rng.sample(_WORDS, 2)
    return Lexicon(dict(zip((Shape.TRIANGLE, Shape.SQUARE), words, strict=True)))


def known_words() -> frozenset[str]:
    """Every word that has a meaning in the items, which no invented word may be."""
    frame = (
        "a all an and are as at be can certain circle color colors contain contains different do does equal every four"
        " has have if is it least no not of one possible same side sided sides that the then there three two whose with"
    )
    return frozenset((*frame.split(), *(word.value for word in (*Shape, *Adjective))))
