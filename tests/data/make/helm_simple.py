"""HELM's own test scenario with its exact-match metric; its test model says the last or the first number it reads."""

from __future__ import annotations

import dataclasses

from helm.benchmark.metrics.common_metric_specs import get_exact_match_metric_specs
from helm.benchmark.run import main
from helm.benchmark.run_spec import run_spec_function
from helm.benchmark.run_specs.simple_run_specs import get_simple1_spec
from helm.clients.simple_client import SimpleClient
from helm.common.request import GeneratedOutput, RequestResult, Token


@run_spec_function("simple_match")
def simple_match():
    spec = get_simple1_spec()
    adapter = dataclasses.replace(spec.adapter_spec, num_outputs=1, num_train_trials=1)
    metrics = get_exact_match_metric_specs()
    return dataclasses.replace(spec, name="simple_match", adapter_spec=adapter, metric_specs=metrics)


def answer(self, request):
    numbers = [int(number) for number in request.prompt.rpartition("Input: ")[2].split("\n")[0].split()]
    text = str(numbers[0] if sum(numbers) % 3 == 0 else numbers[-1])
    output = GeneratedOutput(text=text, logprob=0, tokens=[Token(text=text, logprob=0)])
    return RequestResult(
        success=True, cached=False, request_time=0.01, request_datetime=0, embedding=[], completions=[output]
    )


if __name__ == "__main__":
    SimpleClient.make_request = answer
    main()
