"""Document 004: words as distributions, PCA and t-SNE that draw ellipses."""
