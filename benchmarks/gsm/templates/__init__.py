"""The templates of the main set, one TOML file each; `template` documents the form."""
