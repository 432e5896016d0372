"""Reports for people: pages that work offline, in one file."""
