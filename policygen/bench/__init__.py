"""The project's own measurements, one module per figure."""
