"""Tests of the web page in a browser, with real sockets and processes."""
