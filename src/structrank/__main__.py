"""Run the command line as `python -m structrank`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="structrank")
