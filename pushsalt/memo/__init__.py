"""What renderings read, recorded (``reads``), and their results kept by that (``tree``)."""
