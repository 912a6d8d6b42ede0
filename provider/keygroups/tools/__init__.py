"""The command line: each command is a thin layer over a function of the package."""
