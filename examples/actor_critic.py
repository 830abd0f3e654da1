"""Advantage actor-critic on a corridor: walk to the right end, which pays, and not to the left end, which costs."""

import argparse
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical


class Corridor:
    """A one-dimensional world of `length` cells; an episode starts in the middle."""

    def __init__(self, length: int = 9, patience: int = 30):
        self.length, self.patience = length, patience

    def reset(self) -> torch.Tensor:
        self.cell, self.time = self.length // 2, 0
        return self.observe()

    def observe(self) -> torch.Tensor:
        return F.one_hot(torch.tensor(self.cell), self.length).float()

    def step(self, action: int) -> tuple[torch.Tensor, float, bool]:
        self.cell += 1 if action == 1 else -1
        self.time += 1
        if self.cell in (0, self.length - 1):
            return self.observe(), 1.0 if self.cell else -1.0, True
        return self.observe(), -0.01, self.time >= self.patience


class ActorCritic(nn.Module):
    def __init__(self, cells: int, actions: int = 2, width: int = 32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(cells, width), nn.Tanh())
        self.actor = nn.Linear(width, actions)
        self.critic = nn.Linear(width, 1)

    def forward(self, states):
        features = self.trunk(states)
        return Categorical(logits=self.actor(features)), self.critic(features).squeeze(-1)


class Agent:
    def __init__(self, world: Corridor, discount: float = 0.97, rate: float = 5e-3):
        self.world, self.discount = world, discount
        self.net = ActorCritic(world.length)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=rate)

    @torch.no_grad()
    def play(self):
        """Play one episode with the current policy; return states, actions and rewards."""
        states, actions, rewards = [], [], []
        state, over = self.world.reset(), False
        while not over:
            policy, _ = self.net(state)
            action = policy.sample()
            states.append(state)
            actions.append(action)
            state, reward, over = self.world.step(action.item())
            rewards.append(reward)
        return torch.stack(states), torch.stack(actions), rewards

    def returns(self, rewards: list[float]) -> torch.Tensor:
        total, result = 0.0, deque()
        for reward in reversed(rewards):
            total = reward + self.discount * total
            result.appendleft(total)
        return torch.tensor(result)

    def update(self, states, actions, returns) -> float:
        policy, value = self.net(states)
        advantage = returns - value.detach()
        actor_loss = -(policy.log_prob(actions) * advantage).mean() - 0.01 * policy.entropy().mean()
        critic_loss = F.smooth_l1_loss(value, returns)

        self.optimizer.zero_grad()
        actor_loss.backward()
        critic_loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return actor_loss.item() + critic_loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    agent, recent = Agent(Corridor()), deque(maxlen=20)
    for episode in range(1, options.episodes + 1):
        states, actions, rewards = agent.play()
        loss = agent.update(states, actions, agent.returns(rewards))
        recent.append(sum(rewards))
        if episode % 20 == 0:
            print(f"episode {episode}: mean return {sum(recent) / len(recent):+.2f}, loss {loss:.3f}")


if __name__ == "__main__":
    main()
