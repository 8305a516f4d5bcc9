"""Side-by-side runs against peers, one file per workload: `python -m bench [W1 …] [--quick]`."""
