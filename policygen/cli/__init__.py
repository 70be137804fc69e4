"""The command line: arguments, terminal, exit codes. The only layer that reads time and environment."""
