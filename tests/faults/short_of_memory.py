"""The sitecustomize of an engine process whose accelerator runs out of memory, until one prompt at a time is left."""

import sys

if "variantbench.plugins.generation.engine_process" in sys.orig_argv:
    import random
    from pathlib import Path

    import torch

    from variantbench.plugins.models.shared_prefix import SharedPrefixDecoder

    run = SharedPrefixDecoder.run

    def short(decoder, *given):
        for ended in run(decoder, *given):
            if decoder.size > 1 and random.random() < 0.3:
                Path("ran_out").touch()
                raise torch.OutOfMemoryError("CUDA out of memory")
            yield ended

    SharedPrefixDecoder.run = short  # type: ignore[method-assign]
