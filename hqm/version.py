"""The version of HQM, and where it lies."""

__version__ = "0.3.0"
REPOSITORY = "https://github.com/OWNER/hqm"
"""The repository; workflows and hooks name it, so whoever publishes HQM puts its owner here."""


def installed_version(package: str) -> str | None:
    """Return the version of a package; None of one that is not installed."""
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
