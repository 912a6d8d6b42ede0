"""The version of the package; the build of the wheel and of the jar read it from here."""

__version__ = "0.2.0.dev0"
