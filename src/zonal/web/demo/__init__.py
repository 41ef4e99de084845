"""A city to look at: sensors, cars and phones in Milano, and a cloud of bad air that crosses it."""

from zonal.web.demo.city import CENTRE, cloud_time
from zonal.web.demo.demo import Demo, DemoOptions

__all__ = ["CENTRE", "Demo", "DemoOptions", "cloud_time"]
