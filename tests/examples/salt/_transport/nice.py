"""``transport: nice``: this machine, with every command at a low priority."""

from pushsalt.transport import local


class NiceConnection(local.LocalConnection):
    async def open(self, words, **options):
        words = ["/bin/sh", "-c", words] if isinstance(words, str) else words
        return await super().open(["nice", "-n", "7", *words], **options)


async def connect(target, options):
    return NiceConnection(target, options.shared.setdefault("local", set()))
