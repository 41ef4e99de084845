"""Location keys: a place as ordinary key-expression chunks that stock Zenoh routers filter by."""
