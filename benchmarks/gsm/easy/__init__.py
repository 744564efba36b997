"""The easy set: templates of one or two steps with small numbers, one TOML file each."""
