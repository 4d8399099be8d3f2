"""Two LSTM layers that say the next character, as LEAF has them, and a GRU."""
import torch.nn as nn


class Words(nn.Module):
    """A GRU with the steps first, whose last hidden state goes on."""

    def __init__(self, vocab=25, hidden=12, classes=6, layers=1):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, 8)
        self.gru = nn.GRU(8, hidden, num_layers=layers)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens):
        _, h = self.gru(self.embeddings(tokens).permute(1, 0, 2))
        return self.fc(h[-1] if self.gru.num_layers > 1 else h.squeeze(0))


class NextChar(nn.Module):
    def __init__(self, vocab=30, embedding=8, hidden=16):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, vocab)

    def forward(self, tokens):
        out, (h, c) = self.lstm(self.embeddings(tokens))
        return self.fc(out[:, -1, :])
