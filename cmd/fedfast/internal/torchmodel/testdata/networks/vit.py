"""A vision transformer with nn.TransformerEncoderLayer, a class token and learned positions, and a text encoder with nn.MultiheadAttention."""
import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, image=16, patch=4, dim=16, depth=2, heads=2, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, 1 + (image // patch) ** 2, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.encoder(x))[:, 0])


class TextEncoder(nn.Module):
    """Masks padding, adds an embedding of positions, and takes the mean of the steps."""

    def __init__(self, vocab=20, steps=12, dim=16, classes=4):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(steps, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, classes, bias=False)

    def forward(self, tokens):
        batch, steps = tokens.shape
        x = self.token(tokens) + self.position(torch.arange(steps, device=tokens.device))
        y = self.norm1(x)
        mask = torch.triu(torch.ones(steps, steps, dtype=torch.bool), diagonal=1)
        y, _ = self.attention(y, y, y, attn_mask=mask, key_padding_mask=tokens == 0, need_weights=False)
        x = x + y
        x = x + self.mlp(self.norm2(x))
        return self.head(x.mean(dim=1))
