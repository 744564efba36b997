"""The result store: one schema for SQLite and PostgreSQL, one URL to open it."""

from variantbench.plugins.store.store import Store, open_store

__all__ = ["Store", "open_store"]
