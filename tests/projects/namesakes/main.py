import sched

import torch
import torch_helpers as helpers

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    sched.seed(net, optimizer)
    loss = net(helpers.data()).pow(2).mean()
    loss.backward()
    optimizer.step()
print("RESULT", net.weight.sum().item())
