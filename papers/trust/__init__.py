"""Do the scores tell good pictures from bad? Each against its null, on real models and texts."""
