"""Runs programs that a model wrote, in boxes that hold nothing of ours.

See docs/sandbox.md; SECURITY.md says what is covered.

open_pool(task) -> Pool           which backend, started and tried out (choose.py)
Pool.execute(source)              an Execution, from whichever box is free (pool.py)
Backend, Box                      where boxes come from: docker.py, bubblewrap.py, unprotected.py (base.py)
"""
