"""The tests: a folder per package of orchd, and helper modules that are imported as ``tests.FOLDER.NAME``."""
