"""What the API server refuses in an object, in its own words."""
