"""Agreement of administrations, raters, judges and rankings."""
