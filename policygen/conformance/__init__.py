"""Run recorded answers of a real API server and print the agreement."""
