"""A whole broker from plain options: listeners, credentials, store."""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from zonal.broker.access import Access, OpenAccess
from zonal.broker.core import Broker
from zonal.broker.credentials import Credentials, read_passwords
from zonal.broker.federation import Federation
from zonal.broker.location_rules import read_location_rules
from zonal.broker.operation import Operation
from zonal.broker.postgres import PostgresStore
from zonal.broker.recovery import recover
from zonal.broker.reloading import BrokerFiles
from zonal.broker.server import Server, steady_clock
from zonal.broker.settings import Settings
from zonal.broker.sharing import Sharing
from zonal.broker.store import StoredJournal
from zonal.broker.websocket import is_local
from zonal.broker.zones import read_zones
from zonal.errors import BrokerError, StoreInUseError
from zonal.keys import encoding_named
from zonal.runtime import MetricsDoor, MetricsServer, Reloads, check_port, is_loopback
from zonal.session import Security, config
from zonal.trust import TrustedIssuers, read_rules

if TYPE_CHECKING:
    from pathlib import Path

STANDBY_POLL = 0.2
LISTENER = re.compile(
    r"(?P<kind>mqtts?|wss?)://(?P<host>\[[0-9a-f:.]+\]|[^:/\[\]]+):(?P<port>\d+)/?"
)
ENCRYPTED = frozenset({"mqtts", "wss"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decides. A port of None means no such listener, 0 any free port."""

    host: str = "127.0.0.1"
    port: int | None = 1883
    tls_port: int | None = None
    websocket_port: int | None = None
    secure_websocket_port: int | None = None
    listeners: tuple[str, ...] = ()
    """Further listeners: `mqtt://`, `mqtts://`, `ws://` or `wss://`, a host and a port."""
    metrics: MetricsDoor | None = None
    """Where figures are served for Prometheus."""
    control: Path | None = None
    """The folder for its control socket, which is named after its first port."""
    certificate: Path | None = None
    key: Path | None = None
    websocket_origins: tuple[str, ...] = ()
    """Web sites whose pages may connect; by default those of this machine, and with credentials
    all."""
    client_ca: Path | None = None
    """Verifies client certificates; their common name is the user."""
    passwords: Path | None = None
    rules: Path | None = None
    zones: Path | None = None
    """GeoJSON: the areas of `$geo/zone:<name>/…`."""
    locations: Path | None = None
    """TOML: how payloads say places."""
    data: Path | None = None
    database: str | None = None
    """`postgresql://…`: what must last is there, and several brokers share it."""
    synchronous: Literal["normal", "full"] = "normal"
    standby: bool = False
    """Wait for the data directory while another broker uses it."""
    connect: tuple[str, ...] = ()
    """Zenoh endpoints (`tcp/10.0.0.1:7447`) to join other brokers by."""
    listen: tuple[str, ...] = ()
    """Zenoh endpoints for others to join by."""
    federate: bool = False
    """Join Zenoh also without endpoints, by scouting."""
    issuers: Path | None = None
    """PEM: the public keys of those whose attested positions count."""
    federation_secret: Path | None = None
    """A file with what brokers know and others on the network do not."""
    zenoh_mode: Literal["client", "peer", "router"] | None = None
    """By default a client of the routers it connects to, else a peer."""
    scouting: bool | None = None
    """Whether to look for others by multicast; None: where there are no endpoints."""
    security: Security = field(default_factory=Security)
    """Certificates and credentials for Zenoh."""
    json5: Path | None = None
    """Zenoh's own configuration, to which the rest is added."""
    insecure: bool = False
    """Let anybody in, also from beyond this machine."""
    encodings: tuple[str, ...] = ()
    """Encodings of places to hear beside the registered ones: Bloom domains by their numbers."""
    settings: Settings = field(default_factory=Settings)

    @property
    def is_encrypted(self) -> bool:
        """Whether a listener needs a certificate."""
        return any(kind in ENCRYPTED for _, kind, _, _ in listeners_of(self))

    @property
    def is_secured(self) -> bool:
        """Whether clients have to prove who they are."""
        return self.passwords is not None or self.client_ca is not None

    @property
    def is_federated(self) -> bool:
        """Whether the broker is one of many."""
        return self.federate or bool(self.connect or self.listen or self.json5)


class Service:
    """Runs a broker: `async with Service(options) as service: …`, then `service.ports`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        check(options)
        self.ports: dict[str, int] = {}
        """By kind of listener, and of further ones by what was asked for."""
        self.metrics_port: int | None = None
        """Where figures are served."""
        self.clock = steady_clock()
        self.federation: Federation | None = None
        self.broker: Broker
        self.server: Server
        self.reloads = Reloads()
        """Reads passwords, rules and certificates anew; `ask` it to do so at once."""
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Opens the store, recovers, joins other brokers, and only then listens."""
        options = self._options
        async with AsyncExitStack() as opened:
            store: StoredJournal | PostgresStore | None = None
            if options.database is not None:
                store = PostgresStore(options.database)
            elif options.data is not None:
                store = await self._open_store(options.data)
            if store is not None:
                opened.callback(store.close)
            now = self.clock()
            self.broker = Broker(settings(options), access=access(options), journal=store, now=now)
            self.server = Server(self.broker, self.clock)
            if isinstance(store, StoredJournal):
                recover(self.broker, store, now)
            elif store is not None:
                self.server.sharing = Sharing(self.broker, store)
                self.server.sharing.start(now)
            if options.is_federated:
                self.federation = await opened.enter_async_context(self._federation())
            await opened.enter_async_context(self.server)
            await self._listen()
            await self._operate(opened)
            self._watch_files()
            opened.enter_context(self.reloads)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops listening, tells the clients, leaves the other brokers, closes the store."""
        await self._opened.aclose()

    async def _operate(self, opened: AsyncExitStack) -> None:
        options = self._options
        operation = Operation(self.broker, self.server, self.clock)
        opened.push_async_callback(operation.close)
        if options.control is not None:
            first = next(iter(self.ports.values()))
            await operation.control(options.control / f"{first}.sock")
        if options.metrics is not None:
            page = self.broker.figures.exposition
            server = MetricsServer(options.metrics, lambda: page(self.clock()))
            self.metrics_port = await server.start()
            opened.callback(server.close)

    def _watch_files(self) -> None:
        options = self._options
        files = BrokerFiles(self.reloads, self.broker, self.server)
        if options.passwords is not None:
            files.watch_passwords(options.passwords)
        if options.rules is not None:
            files.watch_rules(options.rules)
        if options.is_encrypted:
            own = (options.certificate, options.key, options.client_ca)
            files.watch_certificates(
                [path for path in own if path is not None],
                options.client_ca,
                lambda: tls_context(options),
            )

    async def _open_store(self, directory: Path) -> StoredJournal:
        while True:
            try:
                return StoredJournal(directory, synchronous=self._options.synchronous)
            except StoreInUseError:
                if not self._options.standby:
                    raise
                await asyncio.sleep(STANDBY_POLL)

    def _federation(self) -> Federation:
        options = self._options
        for name in options.encodings:
            encoding_named(name)  # known from now on, so that clients' interest names it
        alone = options.listen or not options.connect
        mode = options.zenoh_mode or ("peer" if alone else "client")
        joining = config(
            mode,
            connect=options.connect,
            listen=options.listen,
            scouting=options.scouting,
            security=options.security,
            json5=options.json5,
        )
        secret = b""
        if options.federation_secret is not None:
            secret = options.federation_secret.read_bytes().strip()
            if not secret:
                raise BrokerError(f"{options.federation_secret} holds no secret")
        return Federation(self.broker, self.server, joining, secret, insecure=options.insecure)

    def _allows(self, origin: str) -> bool:
        options = self._options
        if options.websocket_origins:
            return origin in options.websocket_origins
        return options.is_secured or is_local(origin)

    async def _listen(self) -> None:
        options = self._options
        tls = tls_context(options) if options.is_encrypted else None
        wanted = listeners_of(options)
        for name, kind, host, port in wanted:
            try:
                self.ports[name] = await self.server.listen(
                    host,
                    check_port(port),
                    tls=tls if kind in ENCRYPTED else None,
                    websocket=kind in {"ws", "wss"},
                    allows=self._allows,
                )
            except OSError as error:
                raise BrokerError(
                    f"cannot listen on {host}:{port} for {kind}: {error.strerror}"
                ) from error


def listeners_of(options: Options) -> list[tuple[str, str, str, int]]:
    """Every listener: its name, kind, host and port."""
    own = {
        "mqtt": options.port,
        "mqtts": options.tls_port,
        "ws": options.websocket_port,
        "wss": options.secure_websocket_port,
    }
    found = [(kind, kind, options.host, port) for kind, port in own.items() if port is not None]
    for written in options.listeners:
        matched = LISTENER.fullmatch(written)
        if matched is None:
            raise BrokerError(
                f"{written!r} is no listener such as mqtts://0.0.0.0:8883; "
                f"there are {', '.join(own)}"
            )
        host = matched["host"].strip("[]")
        found.append((written, matched["kind"], host, int(matched["port"])))
    return found


def check(options: Options) -> None:
    """Refuses what would be unsafe or cannot work, before anything is opened."""
    secured = options.is_secured
    for _, _, host, _ in listeners_of(options):
        if not (secured or options.insecure or is_loopback(host)):
            raise BrokerError(
                f"without a password file or client certificates only loopback is served, "
                f"not {host}; insecure lets anybody in"
            )
    encrypted = options.is_encrypted
    if encrypted and (options.certificate is None or options.key is None):
        raise BrokerError("TLS needs a certificate and its key")
    if options.client_ca is not None and not encrypted:
        raise BrokerError("client certificates need a TLS listener")


def settings(options: Options) -> Settings:
    """How the broker behaves, with what the operator's files say about places."""
    found = options.settings
    if options.zones is not None:
        found = replace(found, zones=read_zones(options.zones))
    if options.issuers is not None:
        found = replace(found, issuers=TrustedIssuers([options.issuers.read_bytes()]))
    if options.locations is not None:
        found = replace(found, locations=read_location_rules(options.locations))
    return found


def access(options: Options) -> Access:
    """Who is let in, and may do what."""
    rules = None if options.rules is None else read_rules(options.rules)
    if options.passwords is None and options.client_ca is None:
        if rules is not None and not rules.knows_anonymous:
            raise BrokerError(
                f"{options.rules} allows nothing to those without a name, and without a password "
                "file or a client CA nobody has one"
            )
        return OpenAccess(rules)
    return Credentials(
        {} if options.passwords is None else read_passwords(options.passwords),
        rules,
        certificates=options.client_ca is not None,
    )


def tls_context(options: Options) -> ssl.SSLContext:
    """TLS 1.2 or newer; client certificates are asked for where a CA can verify them."""
    assert options.certificate is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
        if options.client_ca is not None:
            context.load_verify_locations(options.client_ca)
    except (OSError, ssl.SSLError) as error:
        raise BrokerError(f"the TLS certificate, key or CA cannot be used: {error}") from error
    if options.client_ca is not None:
        # Without a password file a certificate is the only way in.
        required = options.passwords is None
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    return context
