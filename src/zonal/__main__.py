"""`python -m zonal` is `zonal`."""

from zonal.cli import app

if __name__ == "__main__":
    app()
