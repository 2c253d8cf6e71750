"""Benchmarks: ours beside the rival or the floor, on one problem, in one run."""
