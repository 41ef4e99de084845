"""A city to look at: sensors, cars and phones in Milano, and a cloud of bad air that crosses it.

`demo` starts every part: `streets`, `city` and `districts` say where everything is, `crowd` speaks
Zenoh and `mqtt` MQTT (on `topics`), `past` records, `spark_job` judges the air, and `watch` does so
until Spark is there; `machine` knows what is installed and which ports are free.
"""

from zonal.web.demo.city import cloud_time
from zonal.web.demo.demo import Demo, DemoOptions
from zonal.web.demo.machine import port_or_any
from zonal.web.demo.streets import CENTRE

__all__ = ["CENTRE", "Demo", "DemoOptions", "cloud_time", "port_or_any"]
