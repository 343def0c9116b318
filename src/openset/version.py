"""The version of the package, for every layer: importing `openset` itself offers them all."""

__version__ = "0.1.0"
