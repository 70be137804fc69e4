"""Suites and properties: prove that a bundle does what was meant."""
