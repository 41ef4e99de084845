"""A fleet of real processes, each a mesh node on a socket of its own.

`node` is what runs in a process, `handle` that process seen from outside, `cables` the namespaces
that some stand in, `fleet` all of them; `launch` shows one to whoever looks on.
"""
