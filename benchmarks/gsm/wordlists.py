"""The named lists that templates draw from: names, places, goods, and words for numbers. All written for this project.

Name lists hold given names used for one gender only in most places, so that pronouns agree; no name is in both.
Lists of goods hold singulars that form their plural with a plain ``s``. Lists of pairs give (text, exact number).
"""

from __future__ import annotations

from fractions import Fraction

from variantbench.benchmarks.gsm.numbers import Number

NAMES_FEMALE = tuple(
    """Amara Ingrid Leila Noor Saoirse Mei Yuki Priya Zofia Elif Chiara Anneke Marta Lucia Fatima Hana Greta Ximena Aisha
    Olena Rosalind Tamsin Beatriz Ludmila Nadia Kavya Sunniva Thandiwe Maren Paloma Esther Giulia Wanjiru Ilse Camille
    Dorothea Salome Anjali Birgit Fiorella""".split()
)
NAMES_MALE = tuple(
    """Anders Kofi Mateo Dmitri Rafael Tariq Hiroshi Lars Emeka Pavel Giorgio Sanjay Bartek Cillian Yusuf Diego Marek
    Stefan Nikolai Oskar Thabo Wei Arjun Fergus Henrik Ivan Jamal Kenji Leandro Murat Nils Omar Piotr Quentin Ruben
    Sven Tomasz Viktor Zoltan Baptiste""".split()
)
CITIES = tuple(
    "Lisbon Nairobi Osaka Bergen Quito Tunis Hobart Krakow Leeds Montreal Denver Pune Cusco Ghent Antwerp".split()
)
SURNAMES = tuple("Okafor Lindgren Moreau Takeda Alvarez Novak Haddad Petersen Banerjee Keane Duarte Voss".split())
SCHOOLS = ("Hillcrest School", "Riverbend School", "Maple Grove School", "Northfield School", "Lakeside School")
SPORTS = ("football", "tennis", "basketball", "volleyball", "hockey", "rugby", "cricket", "badminton", "handball")
FRUITS = ("apple", "pear", "plum", "mango", "lemon", "orange", "banana", "apricot", "melon", "lime", "fig", "kiwi")
COLORS = (
    *("red", "blue", "green", "yellow", "purple", "orange", "white", "black", "silver", "pink", "brown", "grey"),
    *("teal", "maroon", "turquoise", "beige", "golden"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CURRENCIES = ("$", "€", "£", "¥", "₺", "₣", "₹")
WEIGHTS_SMALL = ("ounce", "gram")
WEIGHTS_MEDIUM = ("pound", "kilogram", "kg")
LENGTHS_LARGE = ("mile", "kilometer")
STATIONERY = ("pencil", "notebook", "eraser", "marker", "folder", "crayon", "ruler", "sticker", "postcard", "envelope")
PASTRIES = ("muffin", "bagel", "scone", "cupcake", "pretzel", "doughnut", "croissant", "cookie")
TOYS = ("marble", "kite", "puzzle", "yo-yo", "balloon", "spinning top", "toy car", "building block")
VEGETABLES = ("carrot", "onion", "cucumber", "turnip", "pumpkin", "beetroot", "pepper", "leek")
FLOWERS = ("rose", "tulip", "lily bulb", "sunflower", "marigold", "carnation", "geranium", "violet")
HOBBIES = ("stamp", "coin", "seashell", "comic book", "trading card", "badge", "key ring", "model plane")
CRAFTS = ("scarf pin", "bracelet", "candle", "necklace", "clay pot", "lantern", "basket", "wooden spoon")

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_UNITS += "seventeen eighteen nineteen".split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()

Pair = tuple[str, Number]


def english(number: int) -> str:
    """An integer from 0 to 9,999 in words, blanks between them: ``forty two``, ``one hundred five``."""
    if not 0 <= number < 10_000:
        raise ValueError(f"{number} has no word here; 0 to 9999 are allowed")
    if number < 20:
        return _UNITS[number]
    for size, word in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            head, rest = divmod(number, size)
            return f"{english(head)} {word}" + (f" {english(rest)}" if rest else "")
    tens, rest = divmod(number, 10)
    return _TENS[tens] + (f" {_UNITS[rest]}" if rest else "")


def _fraction_words() -> tuple[Pair, ...]:
    """one-half, one-third, two-thirds, ... one-tenth: every proper fraction up to sixths, then unit fractions."""
    ordinals = dict(zip(range(2, 11), "half third fourth fifth sixth seventh eighth ninth tenth".split(), strict=True))
    pairs: list[Pair] = []
    for bottom, word in ordinals.items():
        for top in range(1, bottom if bottom <= 6 else 2):
            pairs.append((f"{_UNITS[top]}-{word}{'s' if top > 1 else ''}", Fraction(top, bottom)))
    return tuple(pairs)


def _digits(*texts: str) -> tuple[Pair, ...]:
    return tuple((text, Fraction(text)) for text in texts)


UNIT_FRACTIONS: tuple[Pair, ...] = (
    *(("half", Fraction(1, 2)), ("a third", Fraction(1, 3)), ("a quarter", Fraction(1, 4))),
    *(("a fifth", Fraction(1, 5)), ("an eighth", Fraction(1, 8)), ("a tenth", Fraction(1, 10))),
    *_digits(*(f"1/{bottom}" for bottom in range(2, 11))),
)
# The order matters: one template takes the first four.
FRACTION_DIGITS = _digits(
    *("1/2", "1/3", "1/4", "2/3", "3/4", "2/4", "1/5", "2/5", "3/5", "4/5", "1/6", "1/7", "1/8", "1/9", "1/10")
)
FRACTION_WORDS = _fraction_words()
FRACTION_DECIMALS: tuple[Pair, ...] = tuple((f"0.{tenth}", Fraction(tenth, 10)) for tenth in range(1, 10))
TIMES: tuple[Pair, ...] = tuple((f"{_UNITS[number]} times", number) for number in range(2, 11))
TWICE: tuple[Pair, ...] = (("twice", 2), ("thrice", 3))
MULTIPLES: tuple[Pair, ...] = (("double", 2), ("triple", 3), ("quadruple", 4), ("quintuple", 5))
# Our own templates: shares that read well before "of the", and multiples before "as many as".
SHARES: tuple[Pair, ...] = (
    *(("half", Fraction(1, 2)), ("one third", Fraction(1, 3)), ("two thirds", Fraction(2, 3))),
    *(("one quarter", Fraction(1, 4)), ("three quarters", Fraction(3, 4)), ("one fifth", Fraction(1, 5))),
    *(("two fifths", Fraction(2, 5)), ("three fifths", Fraction(3, 5)), ("one sixth", Fraction(1, 6))),
)
AS_MANY: tuple[Pair, ...] = (("twice", 2), ("three times", 3), ("four times", 4), ("five times", 5))

TEXT_LISTS: dict[str, tuple[str, ...]] = {
    "names_female": NAMES_FEMALE,
    "names_male": NAMES_MALE,
    "names": NAMES_FEMALE + NAMES_MALE,
    "surnames": SURNAMES,
    "schools": SCHOOLS,
    "cities": CITIES,
    "sports": SPORTS,
    "fruits": FRUITS,
    "colors": COLORS,
    "weekdays": WEEKDAYS,
    "currencies_sym": CURRENCIES,
    "weights_sm": WEIGHTS_SMALL,
    "weights_med": WEIGHTS_MEDIUM,
    "length_lg": LENGTHS_LARGE,
    "stationery": STATIONERY,
    "pastries": PASTRIES,
    "toys": TOYS,
    "vegetables": VEGETABLES,
    "flowers": FLOWERS,
    "hobbies": HOBBIES,
    "crafts": CRAFTS,
}
NUMBER_LISTS: dict[str, tuple[Pair, ...]] = {
    "fractions": UNIT_FRACTIONS,
    "fraction_nums": FRACTION_DIGITS,
    "fraction_alph": FRACTION_WORDS,
    "fraction_alnum": FRACTION_DIGITS + FRACTION_WORDS,
    "fraction_decimals": FRACTION_DECIMALS,
    "multi_times": TIMES,
    "multiple_ice": TWICE,
    "multiple": MULTIPLES,
    "shares": SHARES,
    "as_many": AS_MANY,
}
