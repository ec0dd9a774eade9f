"""The version of HQM."""

__version__ = "0.1.0"
