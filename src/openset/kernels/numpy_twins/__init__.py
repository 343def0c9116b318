"""The kernels in NumPy: slower, and equal to the compiled ones in every bit."""
