import torch

def train(net, optimizer:
    optimizer.zero_grad(
