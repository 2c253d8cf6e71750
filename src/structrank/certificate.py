"""Lower bounds: how far an iterate can at most be from the optimum."""

from __future__ import annotations


def penalized_gap(
    *, smooth: float, nuclear_norm: float, slope: float, sigma: float, mu: float
) -> float:
    """Upper bound on `phi(X) - phi*` for the penalised problem (reform2).

    The larger of two lower bounds on the optimum is used. With `d` the right-hand side of the
    least-squares problem f and `rho` its residual, `s rho` is feasible for the dual
    `max <d, nu> - 1/2 ||nu||^2` subject to `||K^* nu||_2 <= mu` for `0 <= s <= mu / sigma`. And
    by convexity `phi* >= phi(X) - <grad f, X> - mu ||X||_* - max(0, sigma - mu) ||X*||_*`, where
    `||X*||_* <= phi(X) / mu`.

    Parameters
    ----------
    smooth : float
        `f(X)`.
    nuclear_norm : float
        `||X||_*`.
    slope : float
        `<grad f(X), X>`.
    sigma : float
        Top singular value of `grad f(X)`, or an upper bound of it.
    mu : float

    Returns
    -------
    float

    Examples
    --------
    At the optimum of `1/2 (x - 3)^2 + |x|`, which is 2, the gap closes:

    >>> from structrank.certificate import penalized_gap
    >>> penalized_gap(smooth=0.5, nuclear_norm=2.0, slope=-2.0, sigma=1.0, mu=1.0)
    0.0
    """
    phi = smooth + mu * nuclear_norm
    by_convexity = phi - (slope + mu * nuclear_norm + phi / mu * max(0.0, sigma - mu))
    alignment = 2 * smooth - slope  # <d, rho>
    scale = max(alignment / (2 * smooth), 0.0) if smooth > 0 else 1.0
    scale = min(scale, mu / sigma) if sigma > 0 else scale
    by_duality = scale * alignment - scale**2 * smooth
    return max(phi - max(by_convexity, by_duality, 0.0), 0.0)
