"""How we ask (one TOML file a format) and how we read the answer."""
