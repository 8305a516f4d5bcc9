"""Document 001, "Visualizing Attention": Figures 1–3, and the questions it leaves open."""
