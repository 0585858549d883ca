"""Records what renderings read (``reads``), and keeps their results for equal reads (``tree``)."""
