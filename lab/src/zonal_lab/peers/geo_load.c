/* Clients that are somewhere else each time: GeoBroker's use case, as fast as a server answers.

   usage: geo_load mqtt|geobroker PORT CLIENTS WARM SECONDS
   At each place of its own a client tells where it is, moves its subscription there (a circle of
   0.01 degrees), and publishes 750 bytes to a circle of the same size, each once the one before is
   acknowledged. Places are random in a square of 0.2 degrees, the same ones for either protocol.
   GeoBroker is spoken to as its own client does: a ZeroMQ dealer for each client (ZMTP 3.0, no
   authentication), JSON; ours in MQTT 5. Prints what was done in SECONDS after WARM of them:
   arrivals, publications, deliveries, seconds, p50_us and p99_us of a publication's answer. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { PAYLOAD = 750, ROOM = 262144, TIMES = 1 << 20 };
enum { CONNECT, PING, SUBSCRIBE, PUBLISH };

struct client {
    int fd, asked, has, greeted;
    uint64_t chance;
    double lat, lon, sent;
    unsigned char in[ROOM];
};

static int zmq;
static char content[PAYLOAD + 1];
static double *times;
static long taken, publications, arrivals, deliveries;
static int counting;

static double chance(struct client *c) {      /* xorshift: every client has a way of its own */
    c->chance ^= c->chance << 13; c->chance ^= c->chance >> 7; c->chance ^= c->chance << 17;
    return (c->chance >> 11) * 0x1p-53;
}

static void move(struct client *c) {
    c->lat = 39.8 + 0.2 * chance(c);
    c->lon = 116.3 + 0.2 * chance(c);
}

/* ---- MQTT 5 -------------------------------------------------------------------------------- */

static int text(unsigned char *out, const char *value) {
    int n = strlen(value);
    out[0] = n >> 8; out[1] = n; memcpy(out + 2, value, n);
    return n + 2;
}

static int property(unsigned char *out, const char *name, const char *value) {
    out[1] = 0x26;
    int n = 1 + text(out + 2, name);
    n += text(out + 1 + n, value);
    out[0] = n;
    return n + 1;
}

static void packet(int fd, int first, const unsigned char *body, int n) {
    unsigned char out[2048];
    int at = 0, rest = n;
    out[at++] = first;
    do { out[at++] = (rest & 127) | (rest > 127 ? 128 : 0); rest >>= 7; } while (rest);
    memcpy(out + at, body, n);
    put(fd, out, at + n);
}

static void ask_mqtt(struct client *c, int number) {
    unsigned char body[1500];
    char place[64], circle[96], id[16];
    int n = 0;
    snprintf(place, sizeof place, "%.6f,%.6f", c->lat, c->lon);
    snprintf(circle, sizeof circle, "CIRCLE (%.6f %.6f, 1111.95)", c->lon, c->lat);
    snprintf(id, sizeof id, "t%d", number);
    if (c->asked == CONNECT) {
        n = text(body, "MQTT");
        body[n++] = 5; body[n++] = 2; body[n++] = 600 >> 8; body[n++] = 600 & 255;
        n += property(body + n, "location", place);
        n += text(body + n, id);
        packet(c->fd, 0x10, body, n);
    } else if (c->asked == PING) {
        n = text(body, "$zonal/location");
        body[n++] = 0; body[n++] = 1; body[n++] = 0;
        n += sprintf((char *)body + n, "%s", place);
        packet(c->fd, 0x32, body, n);
    } else if (c->asked == SUBSCRIBE) {
        body[n++] = 0; body[n++] = 2;
        n += property(body + n, "geofence", circle);
        n += text(body + n, "data");
        body[n++] = 0;
        packet(c->fd, 0x82, body, n);
    } else {
        n = text(body, "data");
        body[n++] = 0; body[n++] = 3;
        n += property(body + n, "geofence", circle);
        memcpy(body + n, content, PAYLOAD);
        packet(c->fd, 0x32, body, n + PAYLOAD);
    }
}

/* ---- GeoBroker ----------------------------------------------------------------------------- */

static void greet(struct client *c, int number) {      /* ZMTP 3.0, mechanism NULL */
    unsigned char greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    unsigned char ready[128] = {4, 0};
    char id[16];
    snprintf(id, sizeof id, "t%d", number);
    int n = 2 + sprintf((char *)ready + 2, "\x05READY\x0bSocket-Type");
    ready[n + 3] = 6; n += 4; n += sprintf((char *)ready + n, "DEALER\x08Identity");
    ready[n + 3] = strlen(id); n += 4; n += sprintf((char *)ready + n, "%s", id);
    ready[1] = n - 2;
    put(c->fd, greeting, sizeof greeting);
    put(c->fd, ready, n);
}

static void ask_geobroker(struct client *c, int number) {
    unsigned char out[1500];
    char *json = (char *)out + 9, fence[128];
    int n = 0;
    snprintf(fence, sizeof fence, "\"geofence\":{\"wkt\":\"BUFFER (POINT (%.6f %.6f), 0.01)\"}", c->lon, c->lat);
    if (c->asked == CONNECT && !c->greeted) { greet(c, number); return; }
    if (c->asked == CONNECT || c->asked == PING)
        n = sprintf(json, "{\"type\":\"%s\",\"location\":{\"wkt\":\"POINT (%.6f %.6f)\"}}",
                    c->asked == PING ? "PINGREQPayload" : "CONNECTPayload", c->lon, c->lat);
    else if (c->asked == SUBSCRIBE)
        n = sprintf(json, "{\"type\":\"SUBSCRIBEPayload\",\"topic\":{\"topic\":\"data\"},%s}", fence);
    else
        n = sprintf(json, "{\"type\":\"PUBLISHPayload\",\"topic\":{\"topic\":\"data\"},%s,\"content\":\"%s\"}", fence, content);
    out[0] = 2;
    for (int i = 0; i < 8; i++) out[1 + i] = i < 6 ? 0 : n >> (8 * (7 - i));
    put(c->fd, out, 9 + n);
}

/* ---- both ---------------------------------------------------------------------------------- */

static void ask(struct client *c, int number, int what) {
    c->asked = what;
    c->sent = now();
    if (zmq) ask_geobroker(c, number); else ask_mqtt(c, number);
}

static void acknowledged(struct client *c, int number) {
    if (c->asked == PUBLISH && counting) {
        publications++;
        if (taken < TIMES) times[taken++] = now() - c->sent;
    }
    if (c->asked == CONNECT || c->asked == PUBLISH) {
        if (counting) arrivals++;
        move(c);
        ask(c, number, PING);
    } else ask(c, number, c->asked + 1);
}

static void told(struct client *c, int number, int delivery) {
    if (!delivery) acknowledged(c, number);
    else if (counting) deliveries++;
}

static void consume_mqtt(struct client *c, int number) {
    int at = 0;
    while (c->has - at >= 2) {
        int rest = 0, shift = 0, body = at + 1, more = 1;
        while (more && body < c->has) { rest |= (c->in[body] & 127) << shift; shift += 7; more = c->in[body++] & 128; }
        if (more || body + rest > c->has) break;
        if (c->in[at] >> 4 == 4 && rest > 2 && c->in[body + 2] >= 128) { fprintf(stderr, "refused: %02x\n", c->in[body + 2]); exit(1); }
        told(c, number, c->in[at] >> 4 == 3);
        at = body + rest;
    }
    memmove(c->in, c->in + at, c->has -= at);
}

static void consume_geobroker(struct client *c, int number) {
    int at = 0;
    if (!c->greeted) {
        if (c->has < 64) return;
        c->greeted = 1;
        memmove(c->in, c->in + 64, c->has -= 64);
    }
    while (c->has - at >= 2) {
        int flags = c->in[at], body = at + (flags & 2 ? 9 : 2);
        if (c->has < body) break;
        long n = c->in[at + 1];
        if (flags & 2) for (int i = n = 0; i < 8; i++) n = n << 8 | c->in[at + 1 + i];
        if (body + n > c->has) break;
        if (flags & 4) ask_geobroker(c, number);      /* READY: now it takes messages */
        else told(c, number, memmem(c->in + body, n < 40 ? n : 40, "PUBLISHPayload", 14) != NULL);
        at = body + n;
    }
    memmove(c->in, c->in + at, c->has -= at);
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "see the top of the source\n"); return 2; }
    zmq = !strcmp(argv[1], "geobroker");
    int port = atoi(argv[2]), count = atoi(argv[3]), poll = epoll_create1(0);
    double warm = atof(argv[4]), seconds = atof(argv[5]);
    struct client *clients = calloc(count, sizeof *clients);
    times = malloc(TIMES * sizeof *times);
    memset(content, 'x', PAYLOAD);
    for (int i = 0; i < count; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        int one = 1;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        clients[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(clients[i].fd, (void *)&to, sizeof to)) fail("connect");
        setsockopt(clients[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(clients[i].fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &event);
        clients[i].chance = 0x9e3779b97f4a7c15u * (i + 1);
        move(&clients[i]);
        ask(&clients[i], i, CONNECT);
    }
    double start = now() + warm, time = now();
    while (time < start + seconds) {
        struct epoll_event events[256];
        int n = epoll_wait(poll, events, 256, 10000);
        if (n <= 0) { fprintf(stderr, "no answer for 10 s\n"); return 1; }
        for (int i = 0; i < n; i++) {
            struct client *c = &clients[events[i].data.u32];
            int got = read(c->fd, c->in + c->has, ROOM - c->has);
            if (got <= 0) { if (got < 0 && errno == EAGAIN) continue; fail("a connection ended"); }
            c->has += got;
            if (zmq) consume_geobroker(c, events[i].data.u32); else consume_mqtt(c, events[i].data.u32);
        }
        time = now();
        if (!counting && time >= start) { counting = 1; start = time; printf("warm\n"); fflush(stdout); }
    }
    qsort(times, taken, sizeof *times, compare);
    printf("{\"arrivals\": %ld, \"publications\": %ld, \"deliveries\": %ld, \"seconds\": %.4f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f}\n", arrivals, publications, deliveries, time - start,
           taken ? times[taken / 2] * 1e6 : 0, taken ? times[taken * 99 / 100] * 1e6 : 0);
    return 0;
}
