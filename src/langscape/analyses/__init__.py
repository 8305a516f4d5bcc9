"""The analyses: nouns in, nouns out. One file each, with its annotated function, its result and its pictures.

A file is all there is to add: its function becomes `langscape.NAME`, the command `langscape NAME`, a form and
an endpoint of the studio, and a table in the docs. Files whose names begin with an underscore hold what
several share.
"""
