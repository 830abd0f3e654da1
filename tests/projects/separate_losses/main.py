import torch
from losses import Pair

torch.manual_seed(0)
one, two, criterion = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1), Pair()
optimizer = torch.optim.SGD([*one.parameters(), *criterion.parameters()], lr=0.1)
side = torch.optim.SGD(two.parameters(), lr=0.1)


def update(x):
    optimizer.zero_grad()
    side.zero_grad()
    losses = criterion(one(x), two(x))
    losses["main"].backward()
    losses["side"].backward()
    optimizer.step()
    side.step()


update(torch.ones(1, 3))
update(torch.ones(2, 3))
update(torch.ones(3, 3))
update(torch.ones(4, 3))
update(torch.ones(5, 3))
update(torch.ones(6, 3))
print("RESULT", one.weight.sum().item(), two.weight.sum().item())
