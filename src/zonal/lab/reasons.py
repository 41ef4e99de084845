"""Why claims of the thesis do not hold here, where they do not: one sentence or two each."""

from __future__ import annotations

FIGURE_ZONING = (
    "The encodings confine the load to its zone (no unwanted message, idle routers in zone "
    "01); what is left is the wait for the publisher's own packet trace, which no technique "
    "can shorten. On clients without the trace the figure holds, see the page on plain "
    "clients."
)

FIGURE_FAR = (
    "What is above is so by the queue that the first, still long keys build up before they "
    "are declared."
)

ZONING_THROUGHPUT = (
    "The baselines lose few of the 20 messages a second, and equation 7.2 divides by the time "
    "between the first and the last message, which the trace stretches or shortens by more "
    "than that."
)

ZONING_DEVIATION = "The deviation of the encodings is that of the trace."

NEAR_COSTS = (
    "Routers here do nothing but match keys, as ever, and a located message is shorter than "
    "the baselines': 55 bytes between routers with s2 and mgrs, 60 with json and bloom, 69 "
    "with PAYLOAD, 82 with TOPIC, time stamp included; and it goes to fewer."
)

NEAR_MGRS_BEST = (
    "A key that is heard often is declared, and a number travels in its place: the length of "
    "an encoding no longer matters, nor does any router decode it."
)

FAR_TOPIC = (
    "The difference to TOPIC is in the routers' queues; on the trace most of the latency is "
    "the wait for the trace, which all share. See the page on plain clients."
)

FAR_PAYLOAD = "See above: on the trace most of the latency is the wait for the trace."

FAR_ORDER = "The encodings cost the same once their keys are numbers."

FAR_DEVIATION = "The deviation is mostly the trace's, which all share."

CPU_NEAR = (
    "Zenoh 1.10 routers need 3 to 20 % of a core for this load (see the last column of the "
    "tables): a fifth of a core hardly limits them."
)

CPU_FAR = (
    "No router decodes a location here, so there is nothing that more computing could slow "
    "down more."
)

UDP_LATENCY = (
    "UDP sends every message on its own where TCP collects them, so routers carry more bytes; "
    "it is faster where TCP has a long queue, and loses what does not fit into a card's queue "
    "of 300 ms."
)

UDP_LOSS = "The location-aware messages are the shorter ones here."

UDP_MGRS = "All encodings keep up."
