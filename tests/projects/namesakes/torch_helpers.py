import torch


def data():
    return torch.ones(2, 3)
