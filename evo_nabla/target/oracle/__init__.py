"""The oracle: runs a call in its modes, compares what they give and judges; NumPy only, library-neutral."""
