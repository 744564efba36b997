"""Everything that runs: the pytest plugin, generation, grading, the store and the reports."""
