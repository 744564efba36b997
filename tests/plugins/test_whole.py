"""Files appear whole or not at all, readable as the umask says."""

from __future__ import annotations

import os

import pytest

from variantbench.plugins.whole import whole_file


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_file_has_the_rights_of_any_other(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        with whole_file(tmp_path / "run.jsonl") as beside:
            beside.write_text("all")
    finally:
        os.umask(before)
    assert (tmp_path / "run.jsonl").stat().st_mode & 0o777 == mode


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("old")

    def half():
        with whole_file(path) as beside:
            beside.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]
