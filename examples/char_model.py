"""A character model on made-up words, trained with accumulated micro-batches."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn, optim

ALPHABET = "_abdegiklmnorstu"


@dataclass
class Config:
    width: int = 24
    context: int = 12
    micro_batch: int = 8
    micro_batches: int = 4
    updates: int = 40
    rate: float = 1.0
    seed: int = 1


def made_up_word(rng: random.Random) -> str:
    """Return two or three syllables of consonant and vowel."""
    return "".join(rng.choice("bdgklmnrst") + rng.choice("aeiou") for _ in range(rng.choice((2, 3))))


def corpus(words: int, seed: int) -> torch.Tensor:
    rng = random.Random(seed)
    text = "_".join(made_up_word(rng) for _ in range(words))
    return torch.tensor([ALPHABET.index(letter) for letter in text])


class CharModel(nn.Module):
    def __init__(self, letters: int, width: int):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.write = nn.Linear(width, letters)

    def forward(self, letters):
        states, _ = self.read(self.embed(letters))
        return self.write(states)


class Trainer:
    def __init__(self, config: Config):
        self.config = config
        self.model = CharModel(len(ALPHABET), config.width)
        self.optimizer = optim.SGD(self.model.parameters(), lr=config.rate)
        self.criterion = nn.CrossEntropyLoss()

    def windows(self, text: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield random micro-batches of contexts and the letters that follow."""
        size, context = self.config.micro_batch, self.config.context
        for _ in range(self.config.micro_batches):
            starts = torch.randint(0, len(text) - context - 1, (size,))
            pieces = torch.stack([text[start : start + context + 1] for start in starts])
            yield pieces[:, :-1], pieces[:, 1:]

    def update(self, text: torch.Tensor) -> float:
        """Take one step on the mean loss of several micro-batches."""
        self.model.train()
        mean = 0.0
        for letters, following in self.windows(text):
            logits = self.model(letters)
            loss = self.criterion(logits.flatten(0, 1), following.flatten()) / self.config.micro_batches
            loss.backward()
            mean += loss.item()
        self.optimizer.step()
        return mean

    @torch.no_grad()
    def perplexity(self, text: torch.Tensor) -> float:
        self.model.eval()
        losses = []
        for piece in text.split(self.config.context + 1):
            if len(piece) > 1:
                losses.append(self.criterion(self.model(piece[None, :-1])[0], piece[1:]).item())
        return math.exp(sum(losses) / len(losses))


def main() -> None:
    config = Config()
    torch.manual_seed(config.seed)
    trainer = Trainer(config)
    text, held_out = corpus(300, seed=2), corpus(40, seed=3)
    for number in range(1, config.updates + 1):
        loss = trainer.update(text)
        if number % 10 == 0:
            print(f"update {number}: loss {loss:.3f}, held-out perplexity {trainer.perplexity(held_out):.2f}")


if __name__ == "__main__":
    main()
