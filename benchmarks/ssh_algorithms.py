"""Which SSH algorithms cost the controller least: a handshake's CPU by key exchange, a transfer's speed by cipher.

Real sshds on loopback; controller CPU only (the server's runs in its own process). Run it with
``python benchmarks/ssh_algorithms.py``; the order of KEX, CIPHERS and MACS in pushsalt/transport/ssh.py follows it.

The last figures (2 cores, OpenSSH 9.2)::

    asyncssh 2.24.1, Python 3.11.7; medians of 15
    host key ed25519                           31.0 ms wall   3.28 ms CPU
    host key ecdsa                             34.6 ms wall   3.37 ms CPU
    host key rsa                               47.1 ms wall   3.41 ms CPU
    kex curve25519-sha256                      33.1 ms wall   2.86 ms CPU
    kex curve25519-sha256@libssh.org           33.0 ms wall   2.91 ms CPU
    kex ecdh-sha2-nistp256                     42.7 ms wall   3.44 ms CPU
    kex ecdh-sha2-nistp384                     34.9 ms wall   3.62 ms CPU
    kex ecdh-sha2-nistp521                     35.0 ms wall   3.49 ms CPU
    kex diffie-hellman-group14-sha256          36.7 ms wall   3.95 ms CPU
    kex diffie-hellman-group16-sha512          41.9 ms wall   5.20 ms CPU
    cipher aes128-gcm@openssh.com                 642 MB/s down     538 MB/s up
    cipher aes256-gcm@openssh.com                 701 MB/s down     649 MB/s up
    cipher chacha20-poly1305@openssh.com          601 MB/s down     369 MB/s up
    cipher aes128-ctr                             623 MB/s down     457 MB/s up
    cipher aes192-ctr                             576 MB/s down     478 MB/s up
    cipher aes256-ctr                             573 MB/s down     442 MB/s up
    aes128-ctr umac-128-etm@openssh.com           753 MB/s down     525 MB/s up
    aes128-ctr hmac-sha2-256-etm@openssh.com      597 MB/s down     463 MB/s up
    aes128-ctr hmac-sha2-512-etm@openssh.com      492 MB/s down     393 MB/s up
    aes128-ctr hmac-sha2-256                      572 MB/s down     470 MB/s up
    aes128-ctr hmac-sha2-512                      493 MB/s down     391 MB/s up

Beyond the rounding, only the finite-field groups and the NIST curves above 256 bits cost more; AES-GCM is ahead because
it needs no separate MAC, and ed25519 host keys because their signatures are the cheapest to check.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import asyncssh

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pushsalt.demo.sshd import SshdBed, keygen
from pushsalt.transport import ssh

LOGINS = 15
BULK = 32 * 1024 * 1024
HOST_KEYS = {"ed25519": "ssh-ed25519", "ecdsa": "ecdsa-sha2-nistp256", "rsa": "rsa-sha2-512"}


async def login(bed: SshdBed, id: str, **algorithms: Any) -> tuple[float, float]:
    """Wall and CPU milliseconds of one login."""
    wall, cpu = time.perf_counter(), time.process_time()
    connection = await asyncssh.connect("127.0.0.1", bed.targets[id].port, **options(bed), **algorithms)
    took = (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000
    connection.close()
    await connection.wait_closed()
    return took


def options(bed: SshdBed) -> dict[str, Any]:
    keys = [asyncssh.read_private_key(bed.key)]
    base = {"known_hosts": None, "config": None, "client_keys": keys, "agent_path": None, "gss_host": None}
    return {**base, "compression_algs": ["none"]}


async def bulk(bed: SshdBed, **algorithms: Any) -> tuple[float, float]:
    """MB/s down and up, by the controller's CPU time."""
    connection = await asyncssh.connect("127.0.0.1", bed.targets["ed25519"].port, **options(bed), **algorithms)
    await connection.run("head -c 4000000 /dev/zero", encoding=None)  # not the first login in this process
    cpu = time.process_time()
    done = await connection.run(f"head -c {BULK} /dev/zero", encoding=None)
    down = BULK / 1e6 / (time.process_time() - cpu)
    assert len(done.stdout or b"") == BULK
    cpu = time.process_time()
    await connection.run("cat > /dev/null", input=bytes(BULK), encoding=None)
    up = BULK / 1e6 / (time.process_time() - cpu)
    connection.close()
    await connection.wait_closed()
    return down, up


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, SshdBed(Path(folder)) as bed:
        for kind in HOST_KEYS:
            key = Path(folder) / f"host_{kind}"
            keygen(key, kind)
            bed.add(kind, [f"HostKey {key}", "HostKeyAlgorithms ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512"])
        bed.wait()
        print(f"asyncssh {asyncssh.__version__}, Python {sys.version.split()[0]}; medians of {LOGINS}")
        for kind, algorithm in HOST_KEYS.items():
            arguments = {"server_host_key_algs": [algorithm], "kex_algs": ["curve25519-sha256"]}
            await report(bed, f"host key {kind}", kind, **arguments)
        for kex in ssh.KEX:
            await report(bed, f"kex {kex}", "ed25519", kex_algs=[kex], server_host_key_algs=["ssh-ed25519"])
        for cipher in ssh.CIPHERS:
            down, up = await bulk(bed, encryption_algs=[cipher], mac_algs=["hmac-sha2-256-etm@openssh.com"])
            print(f"  cipher {cipher:34} {down:7.0f} MB/s down {up:7.0f} MB/s up")
        for mac in ssh.MACS:
            down, up = await bulk(bed, encryption_algs=["aes128-ctr"], mac_algs=[mac])
            print(f"  aes128-ctr {mac:30} {down:7.0f} MB/s down {up:7.0f} MB/s up")


async def report(bed: SshdBed, name: str, id: str, **algorithms: Any) -> None:
    milliseconds = [await login(bed, id, **algorithms) for _ in range(LOGINS)]
    wall, cpu = (statistics.median(column) for column in zip(*milliseconds, strict=True))
    print(f"  {name:40} {wall:6.1f} ms wall {cpu:6.2f} ms CPU")


if __name__ == "__main__":
    asyncio.run(main())
