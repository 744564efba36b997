"""One clear line if the project is not installed; nothing else."""

from importlib.util import find_spec

import pytest

try:
    installed = find_spec("variantbench.plugins.pytest_plugin") is not None
except ModuleNotFoundError:
    installed = False
if not installed:
    pytest.exit("variantbench is not installed here: pip install -e '.[transformers]' (or run tox)", returncode=4)
