"""The in-tree admission plugins that are simulated, one file each."""
