"""Texts that are packed, so that the last state belongs to the last word."""
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
