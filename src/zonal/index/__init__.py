"""Which subscriptions want this message? A topic tree and a raster answer."""
