"""How a prompt becomes tokens: used by the engine that reads them and by the command that shows them."""

from __future__ import annotations

from typing import Any

from variantbench.plugins.datatypes import Prompt


def token_ids(tokenizer: Any, prompt: Prompt) -> list[int]:
    """The ids that the model reads: the text, through the chat template where the prompt says so.

    The template writes its own special tokens; to a plain text the tokenizer adds its own, such as BOS.
    """
    text = prompt.text
    if prompt.chat:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
        )
    return list(tokenizer.encode(text, add_special_tokens=not prompt.chat))
