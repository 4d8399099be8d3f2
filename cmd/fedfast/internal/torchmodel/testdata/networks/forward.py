"""A network whose forward makes the modules without parameters as it needs them, and calls dropout at a rate of 0."""
import torch.nn.functional as F
from torch import nn


class Inline(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(200, 5)

    def forward(self, x):
        x = nn.MaxPool2d(2)(nn.ReLU()(self.conv(x)))
        return self.fc(F.dropout(nn.Flatten()(x), 0.))
