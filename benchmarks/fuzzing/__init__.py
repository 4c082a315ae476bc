"""The parts of `benchmarks/fuzz.py`, which the tests use as well."""
