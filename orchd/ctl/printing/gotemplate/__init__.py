"""Go templates, as ``-o go-template`` takes them."""
