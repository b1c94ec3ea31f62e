"""The steps of trained recurrent layers and their tangents, for bench/newton.py."""

import torch
from torch import Tensor


class Recurrence:
    """The step of several models at once, and its tangent; (models, rows, width)."""

    def __init__(self, kind: str, weights: list[dict[str, Tensor]]) -> None:
        self.kind, self.width = kind, weights[0]["recurrence.weight_hh_l0"].shape[1]
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        W, U, b, c = (
            torch.stack([each[f"recurrence.{name}"] for each in weights]).double()
            for name in names
        )
        self.W, self.U, self.b, self.c = W.mT, U.mT, b[:, None], c[:, None]
        self.embeddings = torch.stack(
            [w["embeddings.weight"] for w in weights]
        ).double()

    def words(self, rows: Tensor) -> Tensor:
        """What the characters contribute: (positions, models, rows, gates)."""
        chosen = self.embeddings[:, rows.T].transpose(0, 1)
        return chosen @ self.W + self.b

    def start(self, rows: int) -> Tensor:
        """The state before the first character."""
        width = self.width * (2 if self.kind == "LSTM" else 1)
        return torch.zeros(len(self.U), rows, width, dtype=torch.float64)

    def gates(self, word: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        """The parts of a step, after one product; for one position or for all."""
        hidden = state[..., : self.width]
        if state.ndim == 4:  # as one product for each model
            hidden = torch.einsum("nmrd,mdg->nmrg", hidden, self.U)
        else:
            hidden = hidden @ self.U
        both = (hidden + self.c, word)
        return tuple(gate for part in both for gate in part.split(self.width, dim=-1))

    def step(self, word: Tensor, state: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The next state, and what its tangent needs."""
        parts = self.gates(word, state)
        if self.kind == "tanh":
            new = torch.tanh(parts[0] + parts[1])
            return new, [1 - new**2]
        if self.kind == "GRU":
            r = torch.sigmoid(parts[0] + parts[3])
            z = torch.sigmoid(parts[1] + parts[4])
            n = torch.tanh(r * parts[2] + parts[5])
            dn = (1 - z) * (1 - n**2)
            slopes = [
                dn * parts[2] * r * (1 - r),
                (state - n) * z * (1 - z),
                dn * r,
            ]
            return (1 - z) * n + z * state, [torch.cat(slopes, dim=-1), z]
        i, f, g, o = (parts[k] + parts[4 + k] for k in range(4))
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        old = state[..., self.width :]
        cell = f * old + i * g
        top = cell.tanh()
        slopes = [g * i * (1 - i), old * f * (1 - f), i * (1 - g**2)]
        out, through = top * o * (1 - o), o * (1 - top**2)
        return torch.cat([o * top, cell], dim=-1), [*slopes, out, f, through]

    def tangent(self, slopes: list[Tensor], change: Tensor) -> Tensor:
        """How the next state changes where this one does."""
        moved = change[..., : self.width] @ self.U
        if self.kind == "tanh":
            return slopes[0] * moved
        if self.kind == "GRU":
            r, z, n = (slopes[0] * moved).chunk(3, dim=-1)
            return r + z + n + slopes[1] * change
        i, f, g, o = moved.chunk(4, dim=-1)
        at_i, at_f, at_g, at_o, keep, through = slopes
        cell = at_i * i + at_f * f + at_g * g + keep * change[..., self.width :]
        return torch.cat([at_o * o + through * cell, cell], dim=-1)


def one_by_one(recurrence: Recurrence, words: Tensor) -> Tensor:
    """All states, as the loop computes them."""
    state = recurrence.start(words.shape[2])
    states = []
    for word in words:
        state, _ = recurrence.step(word, state)
        states.append(state)
    return torch.stack(states)
