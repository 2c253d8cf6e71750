"""
Forecast sales
==============

Monthly sales with a trend and a season. The last year is hidden and forecast from the seven before
it. Without programming the same is ``structrank forecast sales.csv --steps 12 --plot next.png``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from structrank import forecast
from structrank.datasets import season_with_trend

months = pd.date_range("2016-01-01", periods=96, freq="MS")
sales = pd.Series(season_with_trend(length=96, rng=2).samples, months, name="sales")
past, future = sales[:-12], sales[-12:]

ahead = forecast(past, steps=12, season=12)

year_before = pd.Series(past[-12:].to_numpy(), future.index)
ours, naive = (np.sqrt(np.mean((guess - future) ** 2)) for guess in (ahead.mean, year_before))
print(f"error of the last year: structrank {ours:.2f}, the year before {naive:.2f}")
inside = (ahead.lower <= future) & (future <= ahead.upper)
print(f"{inside.sum()} of 12 months are inside the 95% intervals")

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(past[-48:], "k.-", lw=0.5, label="known")
ax.plot(future, "C3.", label="sold later")
ax.plot(ahead.mean, "C0", label="forecast, with 95% intervals")
ax.fill_between(future.index, ahead.lower, ahead.upper, color="C0", alpha=0.3, lw=0)
ax.plot(year_before, "C1--", label="the year before")
ax.set_ylabel("sales")
ax.legend(fontsize="small", ncols=2)
plt.show()

# %%
# Where it fails
# --------------
# A series does not show what will be different next year: prices, campaigns, holidays. If they are
# known in advance, pass them as ``regressors=``.
