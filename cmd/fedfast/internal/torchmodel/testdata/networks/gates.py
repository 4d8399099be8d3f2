"""Products, two directions, and activations of straight lines."""
import math

import torch
import torch.fx
import torch.nn.functional as F
from torch import nn


@torch.fx.wrap
def stochastic_depth(x, p, mode, training=True):
    """As torchvision's, with a p of 0."""
    return x


class Gates(nn.Module):
    """Squeeze-and-excitation with a sigmoid, a product of two branches, ReLU6, LeakyReLU and dropout of channels."""

    def __init__(self):
        super().__init__()
        self.stem, self.bn, self.act = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6()
        self.reduce, self.expand = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.left, self.right = nn.Conv2d(8, 6, 3, stride=2), nn.Conv2d(8, 6, 3, stride=2)
        self.drop, self.leak, self.fc = nn.Dropout2d(0), nn.LeakyReLU(0.1), nn.Linear(6, 5)

    def forward(self, x):
        x = self.act(8 * self.bn(self.stem(x)))
        gate = torch.sigmoid(self.expand(F.silu(self.reduce(F.adaptive_avg_pool2d(x, 1)))))
        x = self.drop(gate.expand_as(x) * x)
        x = self.leak(self.left(x)) * torch.tanh(self.right(x))
        return self.fc(stochastic_depth(x, 0.0, "row", self.training).mean((2, 3)))


class Both(nn.Module):
    """Two layers of two directions, of which the outputs of the last step are read."""

    def __init__(self, kind=nn.LSTM, first=False):
        super().__init__()
        self.first = first
        self.e, self.rnn, self.fc = nn.Embedding(20, 6), kind(6, 5, 2, bidirectional=True, batch_first=first), nn.Linear(10, 3)

    def forward(self, x):
        x = self.e(x)
        if self.first:
            return self.fc(self.rnn(x)[0].mean(1))
        x = x.permute(1, 0, 2)
        return self.fc(self.rnn(x)[0].permute(1, 0, 2)[:, -1, :])


class States(nn.Module):
    """The last hidden states of both directions."""

    def __init__(self):
        super().__init__()
        self.e, self.rnn, self.fc = nn.Embedding(20, 6), nn.LSTM(6, 5, bidirectional=True, batch_first=True), nn.Linear(10, 3)

    def forward(self, x):
        h = self.rnn(self.e(x))[1][0]
        return self.fc(torch.cat((h[-2, :, :], h[-1, :, :]), dim=1))


class Scaled(nn.Module):
    """Words times the root of their number of channels, and a class token before them."""

    def __init__(self):
        super().__init__()
        self.e, self.token, self.at = nn.Embedding(20, 8), nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 13, 8))
        self.block, self.fc = nn.TransformerEncoderLayer(8, 2, 16, 0, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        x = self.e(x) * math.sqrt(8)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.at
        return self.fc(self.block(x)[:, 0] / 2)
