"""From the selected cases to their completions: plan, supervisor, engine process, and the stream that cases wait on."""
