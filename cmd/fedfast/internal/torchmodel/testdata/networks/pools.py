"""Pools of all kinds, and normalizations with a constant of their own or without weights."""
import torch.nn as nn
import torch.nn.functional as F


class Pools(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding="same"), nn.GroupNorm(2, 8, eps=1e-3)
        self.stem, self.mean = nn.MaxPool2d(3, stride=2, padding=1), nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.ceil, self.end = nn.MaxPool2d(3, stride=2, ceil_mode=True), nn.AdaptiveMaxPool2d(2)
        self.plain, self.head = nn.GroupNorm(4, 8, affine=False), nn.Linear(32, 5)

    def forward(self, x):
        x = self.mean(self.stem(F.relu(self.norm(self.conv(x)))))
        x = self.end(self.plain(self.ceil(x)))
        return self.head(x.flatten(1))
