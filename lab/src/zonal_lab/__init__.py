"""The proof of Zonal: emulated networks, and the experiments that run on them.

Each room imports only what stands above it in this list:

- `errors`: what the laboratory raises.
- `emulation`: networks of namespaces, links and traces, and processes in their nodes.
- `systems`: what is compared: Zenoh's routers, Mosquitto, our broker, their clients.
- `experiment`: plan, runner, results, claims, pages, kept data and commands, one of each for all.
- `jobs`: workload and summary on Spark.
- `index`: other spatial structures for the subscription index, and GeoBroker's experiments with it.
- `location`, `latency`, `reliability`, `discovery`, `capture`, `geobroker`, `psvr`, `scale`: an
  experiment each, of one name in code, command, results folder and page.
- `plans`, `everything`: all of them by one committed plan.
- `command`: `zonal lab`, with the list of experiments.
"""

__version__ = "0.2.0"
