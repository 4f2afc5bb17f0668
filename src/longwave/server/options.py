"""What a server is told: where it listens, whom it lets in, how much it takes on."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address

from longwave.errors import InputError


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Options:
    """host, port: where it listens. token: what clients must show; needed for any address but loopback.

    allow_hosts: names under which it may be asked, beside localhost and plain addresses. cors: origins of other pages
    that may ask. writable: items may be added and removed. labels: the metadata column that tells what is right.

    threads: searches that run at the same time. queue: requests that may wait for them; more get 429. batch: single
    queries that are answered in one call, where they wait anyway and that is quicker. max_body: bytes of a request.
    timeout: seconds that a request may take, and that its body may take to arrive. follow: seconds between looks for a
    new version.
    """

    host: str = "127.0.0.1"
    port: int = 8808
    token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    writable: bool = False
    labels: str | None = None
    threads: int = field(default_factory=_cores)
    queue: int = 256
    batch: int = 32
    max_body: int = 32 << 20
    timeout: float = 30.0
    follow: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("threads", 1), ("queue", 1), ("batch", 1), ("max_body", 1024)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("timeout", "follow"):
            if not 0 < getattr(self, name) < 86_400:
                raise InputError(f"{name} must be above 0 and below 86,400 seconds, got {getattr(self, name)}")
        if not 0 <= self.port < 65_536:
            raise InputError(f"port must be from 0 to 65,535, got {self.port}")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and len(self.token) >= 16):
            raise InputError("a token must have at least 16 plain characters; make one with: openssl rand -hex 16")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines: give a token (--token-file F, or the environment "
                "variable LONGWAVE_TOKEN), or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    name = host.strip("[]")
    return name == "localhost" or (is_address(name) and ip_address(name).is_loopback)


def is_address(name: str) -> bool:
    """Whether a name is an address, of IPv4 or IPv6."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
