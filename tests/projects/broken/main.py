import torch

try:
    from nonsense import train
except SyntaxError:
    train = None
try:
    from missing import evaluate
    from . import elsewhere
except ImportError:
    evaluate = None

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.ones(2, 3)).pow(2).mean()
    loss.backward()  # want: missing-zero-grad
    optimizer.step()
if train is not None:
    train(net, optimizer)
print("RESULT", net.weight.sum().item())
