"""
Can the sunspot cycle be extrapolated?
======================================

The yearly sunspot numbers (1700 to 2008, a data set that comes with statsmodels) rise and fall
about every eleven years. It is tempting to extrapolate a few sinusoids. Is that a good forecast of
the next cycle, and are its intervals right?

One forecast proves nothing, so we make seven of them, 22 years apart, each from the years before it
alone.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from statsmodels.tsa.ar_model import ar_select_order

from structrank import forecast

data = sm.datasets.sunspots.load_pandas().data
years, spots = data["YEAR"].to_numpy(), data["SUNACTIVITY"].to_numpy()
steps = 11
origins = np.arange(len(spots) - steps, 150, -22)[::-1]

# %%
# The rivals are the value of the last year, the last eleven years repeated (seasonal naive), and an
# autoregressive model of statsmodels, with the order up to 20 that minimises the AIC. The window of
# `forecast` is 33 years, three cycles.

names = ["structrank", "last year", "last eleven years", "AR"]
errors = {name: [] for name in names}
forecasts, inside = [], []
for origin in origins:
    past, future = spots[:origin], spots[origin : origin + steps]
    ahead = forecast(past, steps, window=33)
    autoregression = ar_select_order(past, 20, ic="aic").model.fit().forecast(steps)
    guesses = [ahead.mean, np.full(steps, past[-1]), past[-steps:], autoregression]
    for name, guess in zip(names, guesses, strict=True):
        errors[name].append(np.mean((guess - future) ** 2))
    inside.append((ahead.lower <= future) & (future <= ahead.upper))
    forecasts.append((ahead, autoregression))

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(years, spots, color="0.6", lw=1, label="sunspot number")
for origin, (ahead, autoregression) in zip(origins, forecasts, strict=True):
    when = years[origin : origin + steps]
    first = origin == origins[0]
    ax.plot(when, ahead.mean, color="C0", label="structrank, 95% intervals" if first else None)
    ax.fill_between(when, ahead.lower, ahead.upper, color="C0", alpha=0.2, lw=0)
    ax.plot(when, autoregression, "--", color="C1", label="AR" if first else None)
ax.set(xlabel="year", ylabel="sunspot number", xlim=(years[origins[0] - 33], years[-1] + 1))
ax.legend(frameon=False, loc="upper left")

# %%
# Root mean square errors of all seven forecasts together, and of each of them.

total = {name: np.sqrt(np.mean(parts)) for name, parts in errors.items()}
print(
    f"error of eleven years ahead: structrank {total['structrank']:.1f}, AR {total['AR']:.1f}, "
    f"last eleven years {total['last eleven years']:.1f}, last year {total['last year']:.1f}"
)
print(f"share of the years inside the 95% intervals: {np.mean(inside):.2f}")

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
for name, marker in zip(names, "osv^", strict=True):
    ax.plot(years[origins], np.sqrt(errors[name]), marker, label=name)
ax.set(xlabel="first year of the forecast", ylabel="root mean square error", ylim=(0, None))
ax.legend(frameon=False, ncols=4, loc="upper left")
plt.show()

# %%
# Where it fails
# --------------
# It fails here. Over all seven forecasts the autoregressive model is better, and so are the last
# eleven years repeated, which are the best of all. The length of the cycle varies between nine and
# fourteen years, and its height changes from one cycle to the next. A sum of sinusoids has a fixed
# period, so after many cycles its phase is wrong; the rivals start from the present phase of the
# cycle. The intervals account for this, since they are widened by the errors of forecasts of known
# years. But they reach far below zero, which is impossible for sunspot numbers.
#
# Use `forecast` for signals with a fixed period, such as the seasons in
# :ref:`sphx_glr_gallery_plot_co2.py`.
