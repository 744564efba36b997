"""The sitecustomize of an engine process whose accelerator runs out of memory down to the fewest rows at once."""

import sys

if "variantbench.plugins.generation.engine_process" in sys.orig_argv:
    import random
    from pathlib import Path

    import torch

    from variantbench.plugins.models.shared_prefix import SharedPrefixDecoder

    run = SharedPrefixDecoder.run

    def short(decoder, *given):
        moment = random.randrange(2)  # early: a run of so few questions yields a few times only
        for count, ended in enumerate(run(decoder, *given)):
            if decoder.size > decoder.fewest and count == moment:
                Path("ran_out").touch()
                raise torch.OutOfMemoryError("CUDA out of memory")
            yield ended

    SharedPrefixDecoder.run = short  # type: ignore[method-assign]
