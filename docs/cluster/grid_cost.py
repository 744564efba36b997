"""What the study's whole grid takes: every GSM model of the registry x 5 formats x 5,100 questions, on 1, 8, 64 GPUs.

    python docs/cluster/grid_cost.py [--gpu h100] [--new 150] [--batch 128] [--price 2.5]
    python docs/cluster/grid_cost.py --parameters 2.5e9 --prefill 20000 --decode 4000    # rates that you measured

Without measured rates they are assumptions: the maker's figures for the GPU times the efficiencies below. Measured
rates are taken to be inverse to the number of parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from variantbench.plugins.models.registry import registry

QUESTIONS = 5_100  # 100 templates x (a base question and 50 variants)

# Tokens of each format's prefix (shots) and, in the mean, of a question, counted with smollm2-135m's tokenizer.
FORMATS = {
    "gsm": (808, 65),
    "simple_nl": (778, 58),
    "structured_nl": (1220, 58),
    "simple_code": (1129, 62),
    "structured_code": (1509, 62),
}

# Assumptions: shares of the maker's figures that are reached; a cache with all heads, as Llama-7B's; what a step of
# decoding takes at least in transformers without CUDA graphs, where a GPU waits for Python.
COMPUTE_SHARE, BANDWIDTH_SHARE = 0.4, 0.6
CACHE_BYTES_7B = 0.5e6  # a token, of a model of 7e9 parameters; others as the power 2/3
STEP_SECONDS = 0.025
START_SECONDS, DISK_BYTES_A_SECOND = 60.0, 2e9  # of a replica: imports, then its weights


@dataclass(frozen=True, slots=True)
class Gpu:
    """The maker's figures: dense bfloat16 operations and bytes a second; an assumed price an hour."""

    flops: float
    bandwidth: float
    price: float


GPUS = {"h100": Gpu(989e12, 3.35e12, 2.5), "a100": Gpu(312e12, 2.04e12, 1.5)}  # SXM, 80 GB


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second of one replica, read and written, all rows of a batch together."""

    prefill: float
    decode: float


@dataclass(frozen=True, slots=True)
class Grid:
    """What is asked: tokens of an answer in the mean, prompts at once, and whether a format's prefix is read once."""

    new: int = 150
    batch: int = 128
    shared: bool = True


def assumed_rates(gpu: Gpu, parameters: float, grid: Grid) -> Rates:
    """Prefill is bound by arithmetic, 2 operations a parameter and token; decoding by reading weights and cache."""
    prefill = COMPUTE_SHARE * gpu.flops / (2 * parameters)
    prefix = sum(prefix for prefix, _ in FORMATS.values()) / len(FORMATS)
    question = sum(question for _, question in FORMATS.values()) / len(FORMATS)
    cached = grid.batch * (question + grid.new / 2) + (prefix if grid.shared else grid.batch * prefix)
    step_bytes = 2 * parameters + cached * CACHE_BYTES_7B * (parameters / 7e9) ** (2 / 3)
    seconds = max(STEP_SECONDS, step_bytes / (BANDWIDTH_SHARE * gpu.bandwidth))
    return Rates(prefill, min(prefill, grid.batch / seconds))


def model_hours(rates: Rates, parameters: float, grid: Grid, gpus: int) -> float:
    """Hours that `gpus` replicas take for one model: start, each format's prefix, and whole batches in turns."""
    seconds = START_SECONDS + 2 * parameters / DISK_BYTES_A_SECOND
    for prefix, question in FORMATS.values():
        own = question if grid.shared else prefix + question
        turns = ceil(ceil(QUESTIONS / grid.batch) / gpus)
        an_answer = own / rates.prefill + grid.new / rates.decode
        seconds += (prefix / rates.prefill if grid.shared else 0) + turns * grid.batch * an_answer
    return seconds / 3600


def studied() -> list[float]:
    """Parameters of the registry's GSM models."""
    return [spec.parameters for spec in registry().values() if "gsm" in spec.studies and spec.parameters]


def lines(
    models: Sequence[float], gpu: Gpu, grid: Grid, *, price: float, measured: tuple[float, Rates] | None = None
) -> Iterator[str]:
    """The table: hours, GPU hours and cost for 1, 8 and 64 GPUs; and what reading every prompt whole would take."""

    def hours(gpus: int, some: Grid) -> float:
        return sum(model_hours(rates_of(one, some), one, some, gpus) for one in models)

    def rates_of(parameters: float, some: Grid) -> Rates:
        if measured is None:
            return assumed_rates(gpu, parameters, some)
        scale = measured[0] / parameters
        return Rates(measured[1].prefill * scale, measured[1].decode * scale)

    answers = len(models) * len(FORMATS) * QUESTIONS
    yield f"{len(models)} models x {len(FORMATS)} formats x {QUESTIONS:,} questions = {answers:,} answers"
    yield ""
    yield "| GPUs | hours | GPU hours | cost | if every prompt were read whole: GPU hours |"
    yield "| --- | --- | --- | --- | --- |"
    for gpus in (1, 8, 64):
        shared, whole = hours(gpus, grid), hours(gpus, replace(grid, shared=False))
        yield f"| {gpus} | {shared:.2f} | {gpus * shared:.1f} | ${gpus * shared * price:,.0f} | {gpus * whole:.1f} |"


def main() -> None:
    """Print the table."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--gpu", choices=GPUS, default="h100")
    parse.add_argument("--new", type=int, default=Grid().new)
    parse.add_argument("--batch", type=int, default=Grid().batch)
    parse.add_argument("--price", type=float, help="of a GPU hour")
    parse.add_argument("--parameters", type=float, help="of the model whose rates were measured")
    parse.add_argument("--prefill", type=float, help="tokens a second, measured")
    parse.add_argument("--decode", type=float, help="tokens a second, measured, all rows together")
    asked = parse.parse_args()
    given = (asked.parameters, asked.prefill, asked.decode)
    if any(given) and not all(given):
        parse.error("measured rates are three numbers: --parameters, --prefill and --decode")
    gpu = GPUS[asked.gpu]
    measured = (asked.parameters, Rates(asked.prefill, asked.decode)) if all(given) else None
    grid = Grid(asked.new, asked.batch)
    for line in lines(studied(), gpu, grid, price=asked.price or gpu.price, measured=measured):
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
