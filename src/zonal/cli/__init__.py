"""The command line: `zonal <command>`.

`main` is the root. It asks `commands` for a name: our own commands have a module each (`demo` also
has `demo_table` and `demo_feed`, `doctor` has `certificates`), others come by the entry points of
other distributions. What commands share is declared once: `options` has the options of several,
`connection` opens the session of those of the network, `shared` has the options of all, `sections`
what `zonal.toml` says for them, `notation` reads places as people type them, `output` writes
samples as lines, `examples` stand under each help, `stopping` waits for Ctrl-C.
"""

from zonal.cli.main import app

__all__ = ["app"]
