"""An AdmissionRequest and policies become an outcome, as in the API server."""
