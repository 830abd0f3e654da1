"""Find bright discs in noisy images: a small fully convolutional network with a validation pass after every epoch."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Discs(Dataset):
    """Images of one disc each, with the mask of the disc; item `i` is always the same."""

    def __init__(self, count: int, size: int = 16, offset: int = 0):
        self.count, self.size, self.offset = count, size, offset

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        source = torch.Generator().manual_seed(self.offset + index)
        row, column = torch.randint(4, self.size - 4, (2,), generator=source).tolist()
        rows, columns = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = ((rows - row) ** 2 + (columns - column) ** 2 <= 9).float()
        noise = torch.randn(self.size, self.size, generator=source)
        return (mask + 0.6 * noise).unsqueeze(0), mask.unsqueeze(0)


class Segmenter(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2))
        self.middle = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.1))
        self.up = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, image):
        features = self.middle(self.down(image))
        return self.up(F.interpolate(features, scale_factor=2, mode="bilinear", align_corners=False))


class Mean:
    """A running mean of numbers."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value: float, count: int) -> None:
        self.total += value * count
        self.count += count

    @property
    def value(self) -> float:
        return self.total / max(self.count, 1)


def overlap(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return intersection over union of the predicted and the true mask."""
    predicted, wanted = logits > 0, mask > 0.5
    return (predicted & wanted).sum() / (predicted | wanted).sum().clamp(min=1)


def segmentation_loss(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Weigh the few bright pixels like the many dark ones."""
    return F.binary_cross_entropy_with_logits(logits, mask, pos_weight=torch.tensor(6.0))


def train_epoch(model, loader, optimizer) -> float:
    model.train()
    mean = Mean()
    for image, mask in loader:
        optimizer.zero_grad()
        loss = segmentation_loss(model(image), mask)
        loss.backward()
        optimizer.step()
        mean.add(loss.item(), len(image))
    return mean.value


def validate(model, loader) -> tuple[float, float]:
    model.eval()
    losses, overlaps = Mean(), Mean()
    for image, mask in loader:
        logits = model(image)
        losses.add(segmentation_loss(logits, mask).item(), len(image))
        overlaps.add(overlap(logits, mask).item(), len(image))
    return losses.value, overlaps.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    options = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(Discs(48), batch_size=options.batch_size, shuffle=True)
    held_out = DataLoader(Discs(24, offset=1000), batch_size=options.batch_size)
    model = Segmenter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(1, options.epochs + 1):
        train_loss = train_epoch(model, train_loader, optimizer)
        loss, quality = validate(model, held_out)
        print(f"epoch {epoch}: train {train_loss:.3f}, held out {loss:.3f}, overlap {quality:.2f}")


if __name__ == "__main__":
    main()
