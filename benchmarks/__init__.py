"""The benchmarks: one test file each, and the items they ask about."""
