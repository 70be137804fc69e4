"""Kubernetes as data: names, objects, quantities, schemas, defaults. Knows no CEL and no policies."""
