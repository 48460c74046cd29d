"""Programs under the names that test frameworks of other languages start, and the command that writes them."""
