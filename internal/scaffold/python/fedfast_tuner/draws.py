"""Random numbers that depend on nothing but their key, the same as those of the Go SDK."""

import hashlib
import struct

_MASK64 = (1 << 64) - 1
_MASK128 = (1 << 128) - 1
_MULTIPLIER = (2549297995355413924 << 64) | 4865540595714422341
_INCREMENT = (6364136223846793005 << 64) | 1442695040888963407
_OUTPUT = 0xDA942042E4DD58B5


class Draws:
    """A short sequence of numbers for one purpose in one round of one trial.

    Keep no generator between calls: make new draws, with a key that says what they are for. So a session that is opened again from its
    state goes on exactly as the lost one would have.
    """

    def __init__(self, seed, trial, round, purpose):
        key = struct.pack("<Qqq", seed, trial, round) + purpose.encode()
        high, low = struct.unpack_from("<QQ", hashlib.sha256(key).digest())
        self._state = (high << 64) | low

    def uint64(self):
        """64 random bits (PCG-DXSM)."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK128
        high, low = self._state >> 64, self._state & _MASK64
        high ^= high >> 32
        high = (high * _OUTPUT) & _MASK64
        high ^= high >> 48
        return (high * (low | 1)) & _MASK64

    def uniform(self):
        """A number from [0, 1)."""
        return (self.uint64() >> 11) / (1 << 53)
