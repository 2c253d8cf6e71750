"""Draw the picture of the guide: `python tests/draw_app.py` writes docs/images/app.png.

It drops a simulated table on the page of `structrank app`, in Chromium, and fills its gaps.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from threading import Thread

import numpy as np
from chromium import browser_tab

from structrank.app import serving

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "app.png"


def weather():
    """Ten days of temperature and humidity, with gaps."""
    rng, t = np.random.default_rng(0), np.arange(240)
    day = 2 * np.pi * t / 24
    columns = [
        12 + 8 * np.cos(day) + 0.01 * t + rng.standard_normal(240),
        60 - 10 * np.cos(day + 0.5) + 2 * rng.standard_normal(240),
    ]
    columns[0][60:75] = columns[1][150:170] = np.nan
    times = np.datetime64("2024-05-01T00") + t.astype("timedelta64[h]")
    rows = zip(times, *columns, strict=True)
    lines = (",".join([str(time), *(f"{x:.2f}" for x in row)]) for time, *row in rows)
    return "time,temperature,humidity\n" + "\n".join(lines)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, serving() as server:
        file = Path(folder) / "weather.csv"
        file.write_text(weather())
        Thread(target=server.serve_forever, daemon=True).start()
        with browser_tab(Path(folder) / "profile") as tab:
            tab.look(900)
            tab.open(server.url)
            tab.choose_file("#file", file)
            tab.until("document.querySelector('#samples img').naturalWidth > 0")
            tab.value("document.querySelector('[value=recover]').click()")
            tab.value("document.getElementById('start').click()")
            tab.until("!document.getElementById('result').hidden", 300)
            tab.until("[...document.images].every(image => image.naturalWidth > 0)")
            tab.screenshot(PICTURE)
        server.shutdown()


if __name__ == "__main__":
    main()
