"""The worker's part in a run of states: the plan's files, the engine, and the return of each state.

A call may run as a state run does: it also survives the loss of its channel if the controller wants that (``keep``).
"""

from thin import waiting


def serve(worker, message):
    """Process the message ``run`` (see thin.wire)."""
    surviving(worker, lambda: _serve(worker, message))


def surviving(worker, work):
    """Call ``work()``. A supervisor that can outlive the channel stores the frames that are sent meanwhile."""
    survives = worker.survives and (worker.info.get("place") or {}).get("dir_fd", -1) >= 0
    if survives:
        import _signal as signal

        def stop(number, frame):
            worker.stopped = True

        signal.signal(signal.SIGTERM, stop)
        worker.channel.tell(b"begin")
    work()
    if survives:
        worker.channel.tell(b"end")


def _serve(worker, message):
    need = worker.controller.begin(message.get("files"), message.get("templates"), message.get("wants") or ())
    if need:
        worker.channel.send(
            {
                "k": "need",
                "re": message["n"],
                "digests": [digest for digest, _ in need],
                "parts": dict(item for item in need if item[1]),
            }
        )
    worker.answer(message, lambda: _run(worker, message))
    worker.controller.end()
    for call in message.get("then") or ():  # after the run, which other calls could interrupt
        worker.on_call(call)


def _run(worker, message):
    from thin import engine

    send = worker.channel.send
    count = [0]

    def done(tag, ret):
        count[0] += 1
        message = {"k": "state", "tag": tag, "ret": ret}
        notes = run.details.pop(tag, None)
        send(dict(message, detail=notes) if notes else message, for_people=True)

    def stopping():
        worker.channel.attend()
        return worker.stopped

    if message.get("look") or worker.looks is not None:
        from thin import planned

        worker.looks = planned.of(message, worker.looks)
    before, worker.opts["test"] = worker.opts.get("test", False), bool(message.get("test"))
    if worker.plain is not None:
        worker.plain.set_test(worker.opts["test"])
        worker.plain.start()
    try:
        chunks, jobs = message.get("chunks") or [], None
        worker.loaders.states.foresee(sorted({chunk.get("state") for chunk in chunks}))
        # A plan needs the notes of each state, and parallel states cannot send any.
        if any(chunk.get("parallel") for chunk in chunks) and not message.get("detail"):
            from thin import parallel

            jobs = waiting.current = parallel.Jobs(worker.opts.get("state_max_parallel"))
        run = engine.Engine(
            worker.loaders,
            collect_grains=lambda: worker.collect(True),
            jobs=jobs,
            mock=bool(message.get("mock")),
            on_start=lambda tag: send({"k": "start", "tag": tag}),
            on_done=done,
            on_event=lambda name, ret: send({"k": "event", "name": name, "ret": ret}),
            reactions=None if message.get("mock") else _reactions(worker),
            stopping=stopping,
            detail=bool(message.get("detail")),
            keeper=_keeper(worker, message),
            looks=worker.looks,
            dunders=engine.dunders_in(message),
        )
        run.run(chunks, *engine.named(chunks, message), done=message.get("done"))
    finally:
        worker.opts["test"] = before
        waiting.current = None
    return {"states": count[0]}


def _keeper(worker, message):
    """The Keeper for files that the run changes (``backups``, ``backup: minion``); None if none are kept."""
    usual, always = worker.opts.get("backup_mode") or "", bool(message.get("backups"))
    comments = [usual] + [chunk.get("backup") for chunk in message.get("chunks") or ()]
    if message.get("test") or message.get("mock") or not worker.jid or not worker.opts.get("cachedir"):
        return None
    if not always and not any(word in ("minion", "both") for word in comments):
        return None
    from thin.utils.files import keeping

    return keeping.Keeper(worker.opts["cachedir"], worker.jid, always, usual)


def _reactions(worker):
    """The due reactions of earlier runs (thin.due), read from the private directory; None if there is none."""
    if not worker.info.get("dir"):
        return None
    from thin import due

    # a resource without private directory has its own file in that of its manager
    lock = (worker.info.get("place") or {}).get("lock_name")
    return due.Reactions(due.Due(worker.info["dir"], "due-" + lock[5:] if lock else due.NAME))
