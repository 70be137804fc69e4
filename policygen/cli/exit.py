"""Exit codes, the same for every command."""

OK = 0
FAILED = 1
"""Cases failed, or output differs."""
INVALID = 2
"""The input has errors."""
USAGE = 3
INTERNAL = 70
INTERRUPTED = 130
