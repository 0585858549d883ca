"""Jobs: a project, one target from connecting to its return (``single``), and all of them at once (``fanout``)."""
