"""The errors that users meet. Each message is one line: what was wrong, the value, what is allowed, what to do."""

from __future__ import annotations


class VariantbenchError(Exception):
    """Base of every error of this package."""


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
