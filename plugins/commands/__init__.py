"""Subcommands of ``variantbench`` by subject; ``plugins/cli.py`` brings them together."""
