"""The minimum of recorded exchanges that must be exact."""
