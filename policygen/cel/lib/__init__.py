"""The function libraries, one file each, and the table of which version has which."""
