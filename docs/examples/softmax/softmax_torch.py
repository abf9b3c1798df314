"""torch.softmax, for the variant "torch"."""
import torch

from rival import cold_us, finish, inputs

x = inputs()["x"]
finish(cold_us(lambda: torch.softmax(x, 1)), f"torch.softmax, torch {torch.__version__}", y=torch.softmax(x, 1))
