"""The web page of the server (docs/ui.md): its files, who gets them, the session that they ask for, and the
conversion of JSON and YAML.

Owns the files of the page and the paths below ``/ui``. Must not read objects: the page reads everything from the API,
with the rights of its user. Imports pipeline's values and kinds' codecs only.
"""
