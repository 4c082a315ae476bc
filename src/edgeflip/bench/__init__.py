"""Benchmarks: run methods on datasets, keep every result, and report beside the published ones."""
