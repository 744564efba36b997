"""`variantbench view`: the answers of a store in a browser on this machine. Reads, and never writes."""
