"""One module per kind of recording."""
