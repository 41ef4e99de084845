"""Stations that answer for their own surroundings, asked by area."""

import zonal
from zonal import Box, Circle, Point

STATIONS = {"milano": Point(45.4642, 9.19), "roma": Point(41.9028, 12.4964)}


def main() -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with zonal.open(config) as stations, zonal.open(config) as asker:
            for name, place in STATIONS.items():
                stations.declare_queryable(
                    f"air/{name}",
                    lambda query, name=name, place=place: query.reply(
                        f"air/{name}", f"pm10 in {name}", location=place
                    ),
                    area=Circle(place, radius_m=20_000),
                )
            lombardia = Box(44.7, 8.5, 46.6, 11.4)
            replies: list[str] = []
            while not replies:
                replies = [r.payload.to_string() for r in asker.get("air/*", area=lombardia)]
            print(replies)


if __name__ == "__main__":
    main()
