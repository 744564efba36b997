"""Reports: what is shown is computed from the store (build), apart from how it is shown."""
