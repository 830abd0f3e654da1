import torch

import evaluation
from evaluation import Judge, loud, quiet

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
batches = [torch.randn(4, 3) for _ in range(3)]
way = getattr(evaluation, "unclear")
for _ in range(2):
    with torch.no_grad():
        quiet(net, batches)
        evaluation.frozen(net, batches)
        total = Judge(net).score(batches)
    total += loud(net, batches)
    total += way(net, batches)
print("RESULT", total, "unclear(")
