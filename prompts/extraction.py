"""Reading answers: text -> what was answered, one entry per kind of answer and protocol.

    kind     robust            paper
    number   robust_number     paper_number
    yes/no   robust_yesno      paper_yesno
    code     robust_function   paper_function

The robust protocol reads as a person would; the paper protocol reads as the studies' own code does. docs/grading.md has
the rules of both.
"""

from __future__ import annotations

from variantbench.prompts.functions import Function, robust_function
from variantbench.prompts.paper import PaperFunction, is_forbidden, paper_function, paper_number, paper_yesno
from variantbench.prompts.robust import robust_number
from variantbench.prompts.yesno import robust_yesno

__all__ = [
    "Function",
    "PaperFunction",
    "is_forbidden",
    "paper_function",
    "paper_number",
    "paper_yesno",
    "robust_function",
    "robust_number",
    "robust_yesno",
]
