"""A page to drop a file on: a small web server for one person, on this machine only.

`uploads` keeps the files, `work` says what can be done with them, `runs` does it in the
background, `desk` knows all of them by number, `requests` turns requests into calls of the desk,
`guard` says which requests are answered at all, and `server` listens.
"""

from .server import AppServer, serving

__all__ = ["AppServer", "serving"]
