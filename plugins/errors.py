"""The errors that users meet. Each message is one line: what was wrong, the value, what is allowed, what to do."""

from __future__ import annotations

# Messages quote what they found, and that may be a megabyte. Start (the place) and end (what to do) are kept.
_START, _END = 700, 500

# What to do after a run that broke off.
GO_ON = "run the same command again, what was stored is not generated twice"


class VariantbenchError(Exception):
    """Base of every error of this package. Its message is one line that can be printed, whatever it quotes."""

    def __init__(self, message: str) -> None:
        if len(message) > _START + _END:
            message = f"{message[:_START]} ... {message[-_END:]}"
        super().__init__("".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message))


class UserError(VariantbenchError):
    """What the user gave cannot be used: an option, a file, a model name. Raised before anything heavy loads."""


class EngineError(VariantbenchError):
    """The engine could not load or died. Answers it owed are ERROR, never wrong."""


class EnoughError(VariantbenchError):
    """The verdict is reached: no more answers are needed. No fault of anything."""


class StoreError(VariantbenchError):
    """The result store cannot be read or written."""


class SandboxError(VariantbenchError):
    """The sandbox cannot run programs, or does not hold what it must. Answers it owed are ERROR, never wrong."""
