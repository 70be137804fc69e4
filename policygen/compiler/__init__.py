"""The user's spec becomes manifests: spec, model, IR, emit."""
