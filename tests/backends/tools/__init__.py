"""What agents that a model works for may use."""
