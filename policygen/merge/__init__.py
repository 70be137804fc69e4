"""Two documents become one, as the API server merges and patches them. Knows no CEL."""
