"""One command per file; a command is imported only when it is called."""
