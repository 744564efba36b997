"""Models: which there are, where their weights lie, and the engines that run them."""
