"""Sends returns, jobs and events to returners, beside the job and after redaction.

``delivery.py`` is the job's observer. Each returner has a thread of its own (``sender.py``), which calls it with a time
limit (``destination.py``) and keeps on disk what did not arrive (``spool.py``); a later command sends that.
"""
