"""The drivers of the catalogue, one module a vendor."""
