"""Other tools' logs in, ours out: one file a tool, found by name in `formats`."""
