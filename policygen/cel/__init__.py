"""CEL as the Kubernetes API server runs it. Knows no admission."""
