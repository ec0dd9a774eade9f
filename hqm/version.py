"""The version of HQM, and where it lies."""

__version__ = "0.2.0"
REPOSITORY = "https://github.com/OWNER/hqm"
"""The repository; workflows and hooks name it, so whoever publishes HQM puts its owner here."""
