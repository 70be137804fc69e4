"""Diagnostics and reports as text: one file per output format. Nothing below this layer prints."""
