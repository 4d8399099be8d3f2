"""A perceptron with batch normalization of its features, and of the steps of an embedding."""
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
