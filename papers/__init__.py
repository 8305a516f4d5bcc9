"""One folder per document: its tables and figures made again, beside the document's own.

`python -m papers.words` runs document 002; each folder's page says what was run and why figures differ.
"""
