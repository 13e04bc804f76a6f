"""Training rows and kernels: how they are stored, compared, multiplied and predicted with."""
