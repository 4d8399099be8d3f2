"""A perceptron with batch normalization of its features, and of the steps of an embedding."""
import torch
import torch.nn as nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(9, 12), nn.BatchNorm1d(12, momentum=0.3, eps=1e-3), nn.ReLU(), nn.Linear(12, 7), nn.BatchNorm1d(7, momentum=None, affine=False), nn.Tanh(), nn.Linear(7, 4))

    def forward(self, x):
        return self.layers(x)


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.head = nn.Embedding(20, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        x = self.norm(self.embedding(x).transpose(1, 2)).transpose(1, 2)
        return self.head(x.mean(1))


class Normalized(nn.Module):
    """The inputs are normalized before anything else reads them."""

    def __init__(self, classes=4):
        super().__init__()
        self.norm, self.hidden, self.out = nn.BatchNorm1d(9), nn.Linear(9, 12), nn.Linear(12, classes)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(self.norm(x))))
