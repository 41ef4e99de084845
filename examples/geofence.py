"""An alert that only those inside a polygon hear."""

import zonal
from zonal import Everywhere, Point, Polygon

CENTRE = Polygon(((45.45, 9.17), (45.45, 9.21), (45.48, 9.21), (45.48, 9.17), (45.45, 9.17)))


def main() -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with (
            zonal.open(config, position=Point(45.4642, 9.19)) as inside,
            zonal.open(config, position=Point(45.5845, 9.2744)) as outside,
            zonal.open(config) as city,
        ):
            hears = inside.declare_subscriber("city/alert", area=Everywhere())
            does_not = outside.declare_subscriber("city/alert", area=Everywhere())
            alert = None
            while alert is None:
                city.put("city/alert", "smoke", location=Point(45.47, 9.2), geofence=CENTRE)
                alert = hears.recv(timeout=0.2)
            print(f"inside: {alert.payload.to_string()}")
            print(f"outside: {does_not.counters.received} messages received")


if __name__ == "__main__":
    main()
