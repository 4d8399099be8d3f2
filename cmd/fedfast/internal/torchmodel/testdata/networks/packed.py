"""Texts that are packed, so that the last state belongs to the last word."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Packed(nn.Module):
    """Its lengths can be given; what is unpacked is not read."""

    def __init__(self, kind=nn.LSTM, layers=1, first=True):
        super().__init__()
        self.first = first
        self.embed = nn.Embedding(20, 6, padding_idx=0)
        self.rnn, self.fc = kind(6, 7, layers, batch_first=first), nn.Linear(7, 3)

    def forward(self, x, lengths=None):
        if lengths is None:
            lengths = (x != 0).sum(1)
        e = self.embed(x) if self.first else self.embed(x).transpose(0, 1)
        out, state = self.rnn(pack_padded_sequence(e, lengths.cpu(), batch_first=self.first, enforce_sorted=False))
        steps, _ = pad_packed_sequence(out, batch_first=self.first)
        return self.fc(state[0][-1] if isinstance(self.rnn, nn.LSTM) else state[-1])


class Sorted(Packed):
    """Packs what it has sorted by length, and undoes that."""

    def forward(self, x):
        lengths, order = (x != 0).sum(1).sort(0, descending=True)
        _, (state, _) = self.rnn(pack_padded_sequence(self.embed(x[order]), lengths.cpu(), batch_first=True))
        return self.fc(state[-1].index_select(0, order.argsort()))


class Ends(Packed):
    """Picks the last step of each text, of what was packed or not."""

    def __init__(self, packs):
        super().__init__()
        self.packs = packs

    def forward(self, x):
        lengths, steps = (x != 0).sum(1), self.embed(x)
        if self.packs:
            packed = pack_padded_sequence(steps, lengths.cpu(), batch_first=True, enforce_sorted=False)
            steps, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
            return self.fc(steps[torch.arange(len(x)), lengths - 1])
        ends = (lengths - 1).view(-1, 1, 1).expand(-1, 1, 7)
        return self.fc(self.rnn(steps)[0].gather(1, ends).squeeze(1))


class Mean(Packed):
    """Takes the mean over the steps that are not padding."""

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1).float()
        return self.fc((self.rnn(self.embed(x))[0] * mask).sum(1) / mask.sum(1).clamp(min=1))
