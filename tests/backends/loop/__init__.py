"""The turn loop of agents that a model works for."""
