"""A whole broker from plain options: listeners, credentials, store."""

from __future__ import annotations

import asyncio
import functools
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from zonal.broker.core import Broker
from zonal.broker.entrance import Entrance
from zonal.broker.federation import Federation
from zonal.broker.listeners import (
    KINDS,
    MqttListener,
    access,
    read_listener,
    tls_context,
)
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
from zonal.keys import encoding_named, register_encoding
from zonal.runtime import MetricsDoor, MetricsServer, Reloads, check_port
from zonal.session import Security, config
from zonal.trust import TrustedIssuers

if TYPE_CHECKING:
    from pathlib import Path

STANDBY_POLL = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decides. A port of None means no such listener, 0 any free port."""

    host: str = "127.0.0.1"
    port: int | None = 1883
    tls_port: int | None = None
    websocket_port: int | None = None
    secure_websocket_port: int | None = None
    listeners: tuple[str, ...] = ()
    """Further listeners (`read_listener`): `mqtt://`, `mqtts://`, `ws://` or `wss://`, a host and
    a port, and after a question mark what is the listener's own."""
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
            whom = access(common_to_all(options))
            self.broker = Broker(settings(options), access=whom, journal=store, now=now)
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
            register_encoding(encoding_named(name))  # so that clients' interest names it
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

    def _allows(self, listener: MqttListener, origin: str) -> bool:
        if self._options.websocket_origins:
            return origin in self._options.websocket_origins
        return listener.is_secured or is_local(origin)

    async def _listen(self) -> None:
        """Opens the listeners; those that let in the same clients share what is known of them."""
        common = common_to_all(self._options)
        accesses = {common.whom: self.broker.access}
        entrances = {(common.whom, common.limits): self.broker.entrances[0]}
        files = BrokerFiles(self.reloads, self.broker, self.server)
        files.watch_access(self.broker.access, common.passwords, common.rules)
        for listener in listeners_of(self._options):
            whom, limits = listener.whom, listener.limits
            if whom not in accesses:
                accesses[whom] = access(listener)
                files.watch_access(accesses[whom], listener.passwords, listener.rules)
            if (whom, limits) not in entrances:
                entrances[whom, limits] = self.broker.enter_by(Entrance(accesses[whom], limits))
            await self._open(listener, entrances[whom, limits], files)

    async def _open(self, listener: MqttListener, entrance: Entrance, files: BrokerFiles) -> None:
        tls = tls_context(listener) if listener.is_encrypted else None
        try:
            self.ports[listener.name] = await self.server.listen(
                listener.host,
                check_port(listener.port),
                tls=tls,
                websocket=listener.is_websocket,
                allows=functools.partial(self._allows, listener),
                entrance=entrance,
            )
        except OSError as error:
            raise BrokerError(
                f"cannot listen on {listener.host}:{listener.port} for {listener.kind}: "
                f"{error.strerror}"
            ) from error
        if tls is not None:
            files.watch_certificates(listener, self.ports[listener.name])


def listeners_of(options: Options) -> list[MqttListener]:
    """Every listener; the first ones are named by their kind, further ones by their place."""
    ports = (
        options.port, options.tls_port, options.websocket_port, options.secure_websocket_port
    )  # fmt: skip
    common = common_to_all(options)
    found = [
        replace(common, name=kind, kind=kind, port=port)
        for kind, port in zip(KINDS, ports, strict=True)
        if port is not None
    ]
    return found + [read_listener(written, common) for written in options.listeners]


def common_to_all(options: Options) -> MqttListener:
    """What listeners do not say themselves."""
    return MqttListener(
        host=options.host,
        certificate=options.certificate,
        key=options.key,
        client_ca=options.client_ca,
        passwords=options.passwords,
        rules=options.rules,
        limits=options.settings.limits,
    )


def check(options: Options) -> None:
    """Refuses what would be unsafe or cannot work, before anything is opened."""
    listeners = listeners_of(options)
    for listener in listeners:
        listener.check(insecure=options.insecure)
    for authority in {listener.client_ca for listener in listeners} - {None}:
        if not any(each.is_encrypted and each.client_ca == authority for each in listeners):
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
