"""Inverted residuals of depthwise convolutions with group normalization, squeeze-and-excitation, and channels side by side."""
import torch
import torch.nn.functional as F
from torch import nn


class HSwish(nn.Module):
    def forward(self, x):
        return x * F.relu6(x + 3, inplace=True) / 6


class Swish(nn.Module):
    def forward(self, x):
        share = torch.sigmoid(x)
        return x * share + share


class HSigmoid(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = nn.ReLU6()

    def forward(self, x):
        return self.cut(x + 3) / 6


class Squeeze(nn.Module):
    def __init__(self, channels, units):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, units, 1), nn.Conv2d(units, channels, 1)
        self.act, self.gate = nn.ReLU(), HSigmoid()

    def forward(self, x):
        return x * self.gate(self.fc2(self.act(self.fc1(self.pool(x)))))


class Inverted(nn.Module):
    def __init__(self, channels, expand, kernel):
        super().__init__()
        wide = channels * expand
        self.block = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.GroupNorm(4, wide), HSwish(),
            nn.Conv2d(wide, wide, kernel, padding=kernel // 2, groups=wide, bias=False), nn.GroupNorm(4, wide), nn.Hardswish(),
            Squeeze(wide, 8),
            nn.Conv2d(wide, channels, 1, bias=False), nn.GroupNorm(4, channels),
        )

    def forward(self, x):
        return x + self.block(x)


class Mobile(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=4))
        self.one, self.two = Inverted(8, 3, 3), Inverted(8, 2, 5)
        self.head = nn.Sequential(nn.Linear(16, 12), Swish(), nn.Linear(12, classes))

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat((self.one(x), self.two(x)), dim=1)
        return self.head(x.mean([2, 3]))
