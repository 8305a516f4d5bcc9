"""Document 002, "Improving t-SNE for applications on word embedding data": Tables 1–5 and Figures 1–5."""
