"""IR nodes become manifests, one module per family of objects."""
