"""A cluster of two nodes on this machine, and a small model with random weights."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest


def start_two_nodes():
    pytest.importorskip("ray", reason="needs ray: pip install 'variantbench[ray]'")
    # no report to Ray's makers; and what Ray will do by default one day, of which it warns until then
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    return cluster


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[Any]:
    """A head and a second node, each with one CPU; for tests that leave both alive."""
    cluster = start_two_nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture
def two_nodes(running_cluster: Any) -> Iterator[Any]:
    """The running cluster, and nobody else on it."""
    yield running_cluster
    import ray

    ray.shutdown()


@pytest.fixture
def two_mortal_nodes() -> Iterator[Any]:
    """A cluster of its own for a test that kills."""
    import ray

    cluster = start_two_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()
