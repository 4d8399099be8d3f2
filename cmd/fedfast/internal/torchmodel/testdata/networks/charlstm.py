"""Two LSTM layers that say the next character, as LEAF has them."""
import torch.nn as nn


class NextChar(nn.Module):
    def __init__(self, vocab=30, embedding=8, hidden=16):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, vocab)

    def forward(self, tokens):
        out, (h, c) = self.lstm(self.embeddings(tokens))
        return self.fc(out[:, -1, :])
