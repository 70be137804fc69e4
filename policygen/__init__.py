"""policygen: compile GPU placement and quota policy for Kubernetes, and prove offline what it does."""

__version__ = "0.1.0"
