"""An example or two of every command: shown under its help, and read by a test."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "router": (
        "zonal router",
        "zonal router --listen tls/0.0.0.0:7447 --certificate c.pem --key k.pem --users users.txt",
        "zonal router --users users.txt --rules rules.toml",
    ),
    "pub": (
        "zonal pub city/air '{\"pm10\": 21}' --at 45.4642,9.19",
        "zonal pub city/alert 'stay inside' --at 45.46,9.19 --geofence circle:45.46,9.19,500m",
        "zonal pub city/plan x -g circle:45.46,9.19,500m --sealed duomo --secret duomo=duomo.key",
    ),
    "sub": (
        "zonal sub 'city/**' --area circle:45.46,9.19,2km",
        "zonal sub city/air --json --position 45.46,9.19 --area around:500m",
        "zonal sub city/plan --zone duomo --attester gate --evidence 4711 --issuers trusted.pem",
    ),
    "get": (
        "zonal get 'city/**?_time=[now(-1h)..]' --area box:45.4,9.1,45.5,9.3",
        "zonal get 'city/bus/*' --nearest 10 --to 45.46,9.19",
    ),
    "watch": (
        "zonal watch 'city/bus/*' --area circle:45.46,9.19,2km --hysteresis 25m --silence 120",
        "zonal watch 'city/bus/*' --zones nil.geojson --on enter,leave --post https://example.org",
    ),
    "encode": ("zonal encode 45.4642,9.19", "zonal encode circle:45.46,9.19,2km --json"),
    "serve": (
        "zonal serve --topic 'city/**' --center 45.46,9.19 --zoom 12",
        "zonal serve --connect tcp/10.0.0.1:7447 --host 0.0.0.0 --token-file tokens.toml",
    ),
    "token": (
        "zonal token tokens.toml map --read 'city/**' --events 'city/**' --fenced",
        "zonal token tokens.toml station-1 --write city/air --area milano.geojson",
    ),
    "broker": (
        "zonal broker",
        "zonal broker --data broker-data --federate",
    ),
    "broker passwd": ("zonal broker passwd users.txt anna",),
    "broker status": ("zonal broker status",),
    "broker kick": ("zonal broker kick phone-1",),
    "broker bridge": (
        "zonal broker bridge mqtt://127.0.0.1 mqtt://old-broker --topic 'sensors/# in 1'",
    ),
    "rules check": ("zonal rules check rules.toml",),
    "rules compile": ("zonal rules compile rules.toml --users users.txt > router.json",),
    "rules explain": (
        "zonal rules explain alice publish city/air --at 45.4642,9.19",
        "zonal rules explain alice subscribe 'city/#' --area circle:45.46,9.19,2km",
    ),
    "store": (
        "zonal store 'city/**'",
        "zonal store 'city/**' --area circle:45.46,9.19,20km --data newest --ttl 3600",
    ),
    "record": ("zonal record out/log 'city/**'", "zonal record s3://city/log --name north"),
    "pipeline run": ("zonal pipeline run out/log out/lake --once",),
    "pipeline compact": ("zonal pipeline compact out/lake --table silver",),
    "pipeline show": ("zonal pipeline show out/lake --table windows --limit 5",),
    "pipeline deliveries": ("zonal pipeline deliveries out/log subscriptions.csv",),
    "pipeline submit": (
        "zonal pipeline submit --master spark://head:7077 -- run s3://city/log s3://city/lake",
    ),
    "history": (
        "zonal history 'city/**' --log out/log --time '[now(-1d)..]' --json",
        "zonal history --lake out/lake --log out/log --serve",
    ),
    "replay": (
        "zonal replay out/log --speed 10",
        "zonal replay out/log --time '[now(-1h)..]' --below again",
    ),
    "feed": (
        "zonal feed gtfs https://example.org/vehicles.pb --topic bus --routes gtfs.zip",
        "zonal feed owntracks mqtt://localhost",
        "zonal feed gpx ride.gpx --speed 10 --loop",
    ),
    "export": ("zonal export out/lake -o centre.parquet --area circle:45.46,9.19,2km",),
    "sql": ("zonal sql 'select zone, max(mean) from windows group by zone' out/lake",),
    "attest key": ("zonal attest key attester.pem",),
    "attest issue": ("zonal attest issue bus-7 45.4642,9.19 --key attester.pem",),
    "attest show": ('zonal attest show "$TOKEN" --issuers attester.pem.pub',),
    "attest serve": ("zonal attest serve --key attester.pem --locator ./where-is",),
    "keys secret": ("zonal keys secret duomo.secret",),
    "keys serve": ("zonal keys serve zones.toml --key keys.pem --issuers attester.pem.pub",),
    "mesh node": (
        "zonal mesh node --position 45.46,9.19 --insecure",
        "zonal mesh node --position 45.46,9.19 --key-file mesh.key",
    ),
    "mesh key": ("zonal mesh key mesh.key",),
    "mesh sub": ("zonal mesh sub 'street/**' --area circle:45.46,9.19,500m",),
    "mesh pub": ("zonal mesh pub street/a/noise loud",),
    "mesh status": ("zonal mesh status --watch",),
    "mesh gateway": (
        "zonal mesh gateway --topic 'street/**' --connect tcp/127.0.0.1:7447 --insecure",
    ),
    "demo": (
        "zonal demo",
        "zonal demo --feed gpx:ride.gpx",
        "zonal demo --table --seconds 30",
    ),
    "config check": ("zonal config check", "zonal config check /etc/zonal/zonal.toml"),
    "config show": ("zonal config show", "zonal config show broker --json"),
    "doctor": ("zonal doctor", "zonal doctor --certificate cert.pem --key key.pem"),
    "completion": (
        'eval "$(zonal completion bash)"',
        "zonal completion fish > ~/.config/fish/completions/zonal.fish",
    ),
}
"""By the words of a command."""


def epilog_of(words: str) -> str | None:
    """What stands under a command's help; lines that the formatter leaves as they are."""
    if words not in EXAMPLES:
        return None
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in EXAMPLES[words])))
