"""Units of ShuffleNet and of its second version: grouped convolutions, channels that are shuffled, and a half of them that passes by."""
import torch
from torch import nn


def shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)


class Grouped(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.conv1, self.norm1 = nn.Conv2d(channels, channels, 1, groups=groups, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False), nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, channels, 1, groups=groups, bias=False)

    def forward(self, x):
        y = shuffle(torch.relu(self.norm1(self.conv1(x))), self.groups)
        return torch.relu(x + self.conv3(self.norm2(self.conv2(y))))


class Split(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.stride, half = stride, channels // 2
        self.branch = nn.Sequential(
            nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
            nn.Conv2d(half, half, 3, stride, 1, groups=half, bias=False), nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1), nn.ReLU(),
        )
        self.other = nn.Conv2d(half, half, 3, stride, 1) if stride > 1 else nn.Identity()

    def forward(self, x):
        a, b = x.chunk(2, dim=1) if self.stride == 1 else (x, x)
        return shuffle(torch.cat((self.other(a), self.branch(b)), 1), 2)


class ShuffleNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.units = nn.Sequential(Grouped(12, 3), Split(24, 2), Split(24, 1))
        self.fc = nn.Linear(17, classes)

    def forward(self, x):
        x = shuffle(self.units(self.stem(x)), 4).mean([2, 3])
        return self.fc(x[:, 7:])
