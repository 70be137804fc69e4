"""The properties: one module each, each a function from a `World` to a `PropertyResult`."""
