"""The flags, one row each, by the program that has them. Must not import what reads them."""
