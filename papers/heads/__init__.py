"""Document 000: attention-head t-SNE, its figures and its claims, with the packaged models."""
