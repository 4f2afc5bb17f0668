"""Benchmarks: ratios against named competitors in one run, raw JSON in `results/`. Not tests: nothing is asserted."""
