"""The recipes that come with HQM: a module each, with its `RECIPE`."""
