"""A sensor, a passer-by and a stock router in one program: who hears what?"""

import zonal
from zonal import Circle, Point

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)


def main() -> None:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with zonal.open(config, position=DUOMO) as passer_by, zonal.open(config) as sensors:
            around_me = passer_by.declare_subscriber("city/air", area=Circle(radius_m=2000))
            while not around_me.counters.received:  # declarations take a moment to spread
                sensors.put("city/air", "pm10 55, far away", location=MONZA)
                sensors.put("city/air", "pm10 21, next door", location=Point(45.4650, 9.1910))
                sample = around_me.recv(timeout=0.2)
            assert sample is not None
            print(f"heard at the Duomo: {sample.payload.to_string()} from {sample.location}")


if __name__ == "__main__":
    main()
