"""The floor under the recorded exchanges."""
