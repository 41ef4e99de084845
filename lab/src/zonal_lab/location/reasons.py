"""Why claims of Visotto 2023 do not hold here, where they do not: one sentence or two each."""

from __future__ import annotations

FIGURE_ZONING = (
    "The encodings do confine the load to its zone: no message goes astray, and zone 01's "
    "routers are idle. What is left is mostly the wait for the publisher's own packet trace, "
    "which no technique can shorten, while the baselines' queues take tens of seconds to fill: "
    "runs of less than about 20 s are too short for it. On clients without the trace it holds in "
    "runs of any length."
)

FIGURE_FAR = (
    "The encodings send fewer bytes than the baselines (see the table) once their keys are "
    "declared. Until a key has been heard some times it travels as text: for the first half "
    "second with bloom, whose keys are the longest, and in a run of a few seconds that shows in "
    "the mean. Where latencies are a few milliseconds, so does a busy machine (see the loads)."
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
    "Part of the latency is shared by all techniques: the wait for the trace where clients "
    "are on one, and for a processor on a busy machine (see the loads)."
)

FAR_PAYLOAD = (
    "Part of the latency is shared by all techniques: the wait for the trace where clients "
    "are on one, and for a processor on a busy machine (see the loads)."
)

FAR_ORDER = "The encodings cost the same once their keys are numbers."

FAR_DEVIATION = (
    "Part of the latency is shared by all techniques: the wait for the trace where clients "
    "are on one, and for a processor on a busy machine (see the loads)."
)

CPU_NEAR = (
    "Zenoh 1.10 routers need 2 to 15 % of a core each for this load, so that a fifth of a "
    "core hardly limits them."
)

CPU_FAR = (
    "No router decodes a location here, so an encoding has nothing that slow routers could "
    "suffer from; none of them needs all of its fifth of a core. Differences of this size "
    "come from other work on the machine (see the loads)."
)

UDP_LATENCY = (
    "Over UDP Zenoh sends messages on their own where a busy TCP link collects them into full "
    "packets. Each then has headers of its own, so the busiest links come close to their 5 Mbit/s "
    "(see the tables), and routers need two to five times the processor time (last column): on two "
    "cores for all of them both make longer queues than TCP's acknowledgements do."
)

UDP_LOSS = (
    "Lost is what meets a full queue, and that is the baselines first: their messages are the "
    "longest here and go everywhere. Base64 and Bloom are numbers once their keys are declared."
)

UDP_MGRS = (
    "The encodings send equally few bytes here; what differs between them under these "
    "conditions is the processor time that they happened to get (see the loads)."
)

FIGURE_NEAR = FIGURE_FAR
