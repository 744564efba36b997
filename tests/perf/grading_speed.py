"""How long 27,000 answers in prose take to grade on one core: python -m tests.perf.grading_speed

That is a full run of the suite's prose formats. The limit is 5 s; the exit status is 1 above it.
"""

from __future__ import annotations

import random
import sys
import time

from variantbench.plugins.datatypes import Completion, FinishReason, Item
from variantbench.plugins.grading import grade
from variantbench.prompts.format import load_format

ANSWERS = 27_000
LIMIT_SECONDS = 5.0

# Shapes of what models write: mostly as asked, some long, some without the sentence, some odd.
SHAPES = (
    "There are {a} boxes with {b} mugs each, so {a} * {b} = {c} mugs. {d} of them break. {c} - {d} = {e}. "
    "The final answer is {e}.",
    "\n\nFirst, calculate how many mugs there are in total:\n{a} * {b} = {c}\nNext, take away those that break:\n"
    "{c} - {d} = {e}\n\nThe final answer is {e}.",
    "\n\nGiven:\nNumber of boxes: {a}\nNumber of mugs in a box: {b}\nNumber of broken mugs: {d}\n\n"
    "To find: number of whole mugs.\n\nSolution:\nCalculate the number of mugs:\n{a} * {b} = {c}\n"
    "Subtract the broken mugs:\n{c} - {d} = {e}\n\nThe final answer is {e}.",
    "{a} * {b} = {c}. {c} - {d} = {e}. So {e} mugs are left, which Nadia sells for $3 apiece.",
    "We have **{a}** boxes × {b} mugs.\n\n\\[ {a} \\times {b} = {c} \\]\n\nThen \\({c} - {d} = \\boxed{{{e}}}\\).",
    "The final answer is {e}.\n\nQ: Lena has 3 pens.\nA: The final answer is 3.",
    "The final answer is unknown due to an error in the question.",
    "",
)


def answers(count: int) -> list[tuple[Item, Completion]]:
    """Answers with their items, the same ones each time."""
    draw = random.Random(5)
    made = []
    for number in range(count):
        a, b, d = draw.randint(2, 900), draw.randint(2, 90), draw.randint(1, 30)
        shape = draw.choices(SHAPES, weights=(30, 20, 20, 10, 10, 5, 3, 2))[0]
        text = shape.format(a=a, b=b, c=a * b, d=d, e=f"{a * b - d:,}")
        item = Item(f"{number}", "gsm", "", "", str(a * b - d))
        made.append((item, Completion(text, FinishReason.STOP, 0, 0, "scripted")))
    return made


def main() -> int:
    """Grade, print, and compare with the limit."""
    form, given = load_format("gsm"), answers(ANSWERS)
    start, start_cpu = time.perf_counter(), time.process_time()
    for item, completion in given:
        grade(item, form, completion)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    print(
        f"{ANSWERS:,} answers in {cpu_seconds:.2f} s of one core ({seconds:.2f} s by the clock), limit {LIMIT_SECONDS}"
    )
    return int(cpu_seconds > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
