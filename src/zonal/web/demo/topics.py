"""The keys of the demo."""

from __future__ import annotations

LIVE = "milano/live/*"
AIR = "milano/live/air"
CARS = "milano/live/car"
PHONES = "milano/live/phone"

EVENTS = "milano/event/**"
ALERT_PREFIX = "milano/event/alert"
ALERTS = f"{ALERT_PREFIX}/pm10"
NOTICES = "milano/event/notice"
HEARD = "milano/event/heard"
ZONES = "milano/event/zone"
