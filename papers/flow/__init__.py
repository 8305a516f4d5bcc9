"""Document 003, weight flow: models that went wrong, and the figures that show where."""
