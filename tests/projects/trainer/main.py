import torch

from cleared import Cleared
from summing import Summing

torch.manual_seed(0)
batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
for kind in (Summing, Cleared):
    torch.manual_seed(1)
    trainer = kind(torch.nn.Linear(3, 1), 0.1)
    trainer.fit(batches)
    print("RESULT", trainer.net.weight.sum().item())
