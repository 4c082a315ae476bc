"""The denoiser's arithmetic, written out forwards and backwards.

Nearly all of a training's time goes here. So nothing is copied or kept that is not needed: a block is one
step to autograd, and its matrix products take the fastest single-precision kernels that torch has.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# As of instance norm.
EPSILON = 1e-5

_OPS: Any = torch.ops


def _has_onednn() -> bool:
    """Whether oneDNN's matrix product is there; on some processors it takes half the time of the other."""
    return torch.backends.mkldnn.is_available() and hasattr(_OPS.mkldnn, "_linear_pointwise")


_ONEDNN = _has_onednn()


def product(left: Tensor, right: Tensor, *, plus: Tensor | None = None) -> Tensor:
    """The matrix product in single precision, with something added to it.

    Args:
        left: Any matrix [a, b].
        right: Any matrix [b, c].
        plus: Added to the result [a, c].

    Example:
        >>> product(torch.ones(2, 3), torch.ones(3, 1), plus=torch.ones(2, 1)).tolist()
        [[4.0], [4.0]]
    """
    if not _ONEDNN or left.dtype != torch.float32:
        return left @ right if plus is None else torch.addmm(plus, left, right)
    found: Tensor
    if plus is None:
        found = _OPS.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
    else:
        found = _OPS.mkldnn._linear_pointwise.binary(left, plus, right.t(), None, "add")
    return found


class BlockStep(torch.autograd.Function):
    """One block, and what it adds to the layer that reads the outputs of all blocks.

    With U the pairs of the block before [w, b, n, n], channel by channel:

        L, R = both · U + bias;   P = L R / (√n + ε);   out = relu(norm(merge · [P, U]))
        hidden = hidden + later · out

    where norm makes each channel of each graph one with mean 0 and variance 1.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pairs: Tensor,
        hidden: Tensor,
        both: Tensor,
        bias: Tensor,
        merge: Tensor,
        later: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Pairs after the block and the new hidden values, both [w, b, n, n]."""
        width, graphs, nodes, _ = pairs.shape
        # The division goes into the small weights of L instead of the large product.
        scale = both.new_ones(2 * width)
        scale[:width] /= nodes**0.5 + 1e-5
        factors = product(both * scale[:, None], pairs.flatten(1))
        factors += (bias * scale)[:, None]
        left, right = factors.view(2, width * graphs, nodes, nodes)
        joined = pairs.new_empty(2 * width, graphs, nodes, nodes)
        torch.bmm(left, right, out=joined[:width].view(-1, nodes, nodes))
        joined[width:] = pairs
        merged = product(merge, joined.flatten(1)).view(width * graphs, -1)
        normal, mean, spread = torch.native_layer_norm(merged, [nodes * nodes], None, None, EPSILON)
        out = normal.relu_().view_as(pairs)
        hidden = product(later, out.flatten(1), plus=hidden.flatten(1)).view_as(pairs)
        ctx.save_for_backward(joined, factors, merged, mean, spread, out, both, merge, later, scale)
        return out, hidden

    @staticmethod
    def backward(ctx: Any, slope: Tensor, hidden_slope: Tensor) -> tuple[Tensor, ...]:
        """Slopes of all arguments of `forward`."""
        joined, factors, merged, mean, spread, out, both, merge, later, scale = ctx.saved_tensors
        width, graphs, nodes, _ = out.shape
        above = hidden_slope.flatten(1)
        later_slope = product(above, out.flatten(1).t())
        slope = product(later.t(), above, plus=slope.flatten(1))
        slope = _OPS.aten.threshold_backward(slope, out.flatten(1), 0)
        slope, _, _ = _OPS.aten.native_layer_norm_backward(
            slope.view_as(merged),
            merged,
            [nodes * nodes],
            mean,
            spread,
            None,
            None,
            [True, False, False],
        )
        slope = slope.view(width, -1)
        merge_slope = product(slope, joined.flatten(1).t())
        joined_slope = product(merge.t(), slope)
        left, right = factors.view(2, width * graphs, nodes, nodes)
        across = joined_slope[:width].view(-1, nodes, nodes)
        factor_slope = torch.empty_like(factors)
        left_slope, right_slope = factor_slope.view(2, width * graphs, nodes, nodes)
        torch.bmm(across, right.transpose(1, 2), out=left_slope)
        torch.bmm(left.transpose(1, 2), across, out=right_slope)
        both_slope = product(factor_slope, joined[width:].flatten(1).t()) * scale[:, None]
        bias_slope = factor_slope.sum(dim=1) * scale
        pairs_slope = product(
            (both * scale[:, None]).t(), factor_slope, plus=joined_slope[width:]
        ).view_as(out)
        return pairs_slope, hidden_slope, both_slope, bias_slope, merge_slope, later_slope
