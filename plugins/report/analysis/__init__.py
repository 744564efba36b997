"""The studies' analyses as functions from a frame of answers (`plugins/store/frame.py`) to frozen results.

Nothing here draws or prints. `study.py` has the word problems' experiments (Ex1, Ex2.A-D, Ex3.A-D), `logic.py` the
logic study's tables, `failures.py` how answers fail; the other files have what these are made of.
"""
