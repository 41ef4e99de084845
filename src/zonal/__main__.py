"""`python -m zonal` is `zonal`."""

from zonal.cli.main import main

if __name__ == "__main__":
    main()
