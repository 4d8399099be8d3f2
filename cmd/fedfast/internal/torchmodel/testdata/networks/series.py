"""Networks on series, and on text by convolutions over its steps."""
import torch
import torch.nn.functional as F
from torch import nn


class Wave(nn.Module):
    """A convolutional network on the values of a sound, as for speech commands."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv1d(1, 6, 9, stride=4), nn.BatchNorm1d(6), nn.MaxPool1d(4)
        self.conv2, self.bn2, self.fc = nn.Conv1d(6, 8, 3), nn.BatchNorm1d(8), nn.Linear(8, 5)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = torch.tanh(self.bn2(self.conv2(x)))
        x = F.avg_pool1d(x, x.shape[-1]).permute(0, 2, 1)
        return F.log_softmax(self.fc(x), dim=2).squeeze(1)


class Heart(nn.Module):
    """Strides, paddings, groups and dilations."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 8, 7, stride=2, padding=3), nn.GroupNorm(2, 8), nn.SiLU(), nn.MaxPool1d(3, 2, padding=1), nn.Conv1d(8, 8, 5, padding="same", groups=2),
            nn.Conv1d(8, 6, 3, padding=2, dilation=2, bias=False), nn.Tanh(), nn.AvgPool1d(3, 2, padding=1), nn.AdaptiveAvgPool1d(3))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0), nn.Linear(18, 4))

    def forward(self, x):
        return self.head(self.body(x))


class Activity(nn.Module):
    """Convolutions over steps before an LSTM."""

    def __init__(self):
        super().__init__()
        self.conv, self.lstm, self.fc = nn.Conv1d(3, 6, 5), nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 4)

    def forward(self, x):
        return self.fc(self.lstm(torch.sigmoid(self.conv(x)).permute(0, 2, 1))[0][:, -1])


class Sensors(nn.Module):
    """Kernels and windows of one row, on images of one row."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, (1, 5)), nn.Tanh(), nn.MaxPool2d((1, 2), stride=2), nn.Conv2d(6, 6, (1, 3)), nn.AvgPool2d((1, 2)))
        self.fc = nn.Linear(6 * 6, 4)

    def forward(self, x):
        return self.fc(torch.flatten(self.body(x), 1))


class TextCNN(nn.Module):
    """Kim's convolutions over words, of three lengths."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 6, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(6, 4, k) for k in (2, 3, 4))
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        x = self.embedding(x).transpose(1, 2)
        return self.fc(torch.cat([self.largest(torch.tanh(c(x))) for c in self.convs], 1))

    def largest(self, x):
        if x.shape[2] % 3 == 0:
            return x.max(2)[0]
        return torch.max(x, dim=2).values if x.shape[2] % 3 == 1 else F.max_pool1d(x, x.shape[2]).squeeze(2)


class Grey(nn.Module):
    """Reads rows and columns without channels."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 4, (3, 5), padding=(1, 1)), nn.Linear(4 * 9, 3)

    def forward(self, x):
        return self.fc(F.adaptive_max_pool2d(torch.tanh(self.conv(torch.unsqueeze(x, 1))), 3).flatten(1))


class Windows(nn.Module):
    """Windows that reach over the end, that overlap, and that are more than there are pixels. The last layer has no weights."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, (3, 1), padding=(1, 0)), nn.Conv2d(6, 4, 1)

    def forward(self, x):
        x = F.max_pool2d(self.a(x), 3, 2, ceil_mode=True)
        x = F.avg_pool2d(torch.tanh(self.b(x)), 2, 2, padding=1, ceil_mode=True)
        x = F.adaptive_avg_pool2d(x, (3, 2))
        x = F.adaptive_avg_pool2d(x, 7)
        return torch.flatten(F.adaptive_avg_pool2d(torch.tanh(self.c(x)), 1), 1)
