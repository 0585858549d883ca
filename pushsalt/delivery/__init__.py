"""Sends returns, jobs and events to returners, concurrently with the job and after redaction.

``delivery.py`` is the job's observer. Each returner has a separate thread (``sender.py``), which calls it with a time
limit (``destination.py``) and stores on disk what did not arrive (``spool.py``); a later command sends it.
"""
