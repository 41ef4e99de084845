/* A neutral load for MQTT brokers: one thread, one message a write, publishers in turn.

   usage: mqtt_load key=value…   (keys and defaults below)
   Publishers send a message each in turn, in one write, while less than `window` publications are
   under way (published and not yet received by all subscribers, nor acknowledged). What one read
   brings is acknowledged in one write. After a warm-up of half a second deliveries are counted for
   `seconds`. Prints: deliveries, publications, seconds, and with `pid` the server's processor time
   for each publication while deliveries are counted, and for each subscription.
   With `fences=1` every subscriber has a circle of its own (radius in metres); places are
   random within a square of 0.2 degrees. Then deliveries are not known in advance, so a window
   counts publications that a last subscriber without a fence has not seen yet.
   With `resp=1` the server is Tile38: a fence is a channel of its own (SETCHAN … DETECT inside)
   that one connection subscribes to, a publication is a SET of the same object at another place,
   and the last subscriber's circle holds all places. What `subscribe_us` counts is SETCHAN. */

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

static int port = 1883, version = 5, publishers = 1, subscribers = 1, qos = 0, size = 64;
static int window = 100, located = 0, places = 1, fences = 0, hold = 0, resp = 0, pid = 0;
static double seconds = 2, radius = 500;

struct option { const char *name; int *whole; double *real; };
static struct option options[] = {
    {"port", &port, 0}, {"version", &version, 0}, {"publishers", &publishers, 0},
    {"subscribers", &subscribers, 0}, {"qos", &qos, 0}, {"size", &size, 0},
    {"window", &window, 0}, {"located", &located, 0}, {"places", &places, 0},
    {"fences", &fences, 0}, {"hold", &hold, 0}, {"resp", &resp, 0}, {"pid", &pid, 0},
    {"seconds", 0, &seconds}, {"radius", 0, &radius},
};

struct client {
    int fd, publisher, has;      /* bytes in `in` */
    long received;
    unsigned char in[65536];
};

static struct client *clients;
static int count;
static unsigned char *messages[65536];
static int lengths[65536];

static void fail(const char *what) { perror(what); exit(1); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double server_cpu(void) {      /* processor time of all its threads, in seconds */
    static clockid_t clock;
    struct timespec t = {0};
    if (pid && (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))) fail("clock of pid");
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double chance(void) { return random() / (RAND_MAX + 1.0); }

static int text(unsigned char *out, const char *value) {
    int n = strlen(value);
    out[0] = n >> 8; out[1] = n; memcpy(out + 2, value, n);
    return n + 2;
}

static int property(unsigned char *out, const char *name, const char *value) {
    out[0] = 0x26;
    int n = 1 + text(out + 1, name);
    return n + text(out + n, value);
}

static int packet(unsigned char *out, int first, const unsigned char *body, int n) {
    int at = 0, rest = n;
    out[at++] = first;
    do { out[at++] = (rest & 127) | (rest > 127 ? 128 : 0); rest >>= 7; } while (rest);
    memcpy(out + at, body, n);
    return at + n;
}

static void put(int fd, const unsigned char *data, int n) {
    while (n) {
        int done = write(fd, data, n);
        if (done < 0) {
            if (errno == EAGAIN) continue;
            fail("write");
        }
        data += done; n -= done;
    }
}

static void answer(int fd, int wanted) {      /* waits for one small packet */
    unsigned char in[256];
    int has = 0;
    while (has < 2 || has < 2 + in[1]) {
        int n = read(fd, in + has, 1);
        if (n == 1) has++;
        else if (n == 0 || errno != EAGAIN) fail("read");
    }
    if (in[0] >> 4 != wanted) { fprintf(stderr, "unexpected packet %02x\n", in[0]); exit(1); }
}

static int dial(int number) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (void *)&to, sizeof to)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (resp) return fd;
    unsigned char body[256], out[300];
    char id[32];
    int n = text(body, "MQTT");
    body[n++] = version; body[n++] = 2;
    body[n++] = 3600 >> 8; body[n++] = 3600 & 255;      /* rumqttd takes nobody without a keep-alive */
    if (version == 5) body[n++] = 0;
    snprintf(id, sizeof id, "load-%d-%d", getpid() % 10000, number);
    n += text(body + n, id);
    put(fd, out, packet(out, 0x10, body, n));
    answer(fd, 2);
    return fd;
}

static void place(char *out, int n) {
    snprintf(out, n, "%.6f,%.6f", 45.4 + 0.2 * chance(), 9.1 + 0.2 * chance());
}

/* Where a RESP value ends, or 0 where it is not all there. */
static int value_end(const unsigned char *in, int at, int has) {
    unsigned char *line = memchr(in + at, '\n', has - at);
    if (!line) return 0;
    int number = atoi((const char *)in + at + 1), end = line - in + 1;
    if (in[at] == '$') end += number < 0 ? 0 : number + 2;
    if (in[at] == '*')
        while (number-- > 0) {
            if (end >= has) return 0;
            if (!(end = value_end(in, end, has))) return 0;
        }
    return end <= has ? end : 0;
}

static void command(int fd, const char *line) {      /* as one line, and waits for its answer */
    unsigned char in[512];
    int has = 0;
    put(fd, (const unsigned char *)line, strlen(line));
    do {
        int n = read(fd, in + has, sizeof in - 1 - has);
        if (n > 0) has += n;
        else if (n == 0 || errno != EAGAIN) fail("read");
    } while (!value_end(in, 0, has));
    if (in[0] == '-') { fprintf(stderr, "%.*s", has, in); exit(1); }
}

static void set_channel(int fd, int number, double metres) {
    char line[200];
    double lon = 9.1 + 0.2 * chance(), lat = 45.4 + 0.2 * chance();
    snprintf(line, sizeof line, "SETCHAN f%d NEARBY fleet FENCE DETECT inside POINT %.6f %.6f %.0f\r\n",
             number, lat, lon, metres);
    command(fd, line);
}

static void listen_to(int number) {
    char line[64];
    snprintf(line, sizeof line, "SUBSCRIBE f%d\r\n", number);
    command(clients[number].fd, line);
}

static void subscribe(int fd, int fenced) {
    unsigned char body[512], out[600];
    int n = 0;
    body[n++] = 0; body[n++] = 1;
    if (version == 5 && fenced) {
        char circle[100];
        snprintf(circle, sizeof circle, "CIRCLE (%.6f %.6f, %.0f)", 9.1 + 0.2 * chance(),
                 45.4 + 0.2 * chance(), radius);
        body[n] = property(body + n + 1, "geofence", circle);
        n += 1 + body[n];
    } else if (version == 5) body[n++] = 0;
    n += text(body + n, "bench/fan");
    body[n++] = qos;
    put(fd, out, packet(out, 0x82, body, n));
    answer(fd, 9);
}

static void compose(int index) {
    unsigned char body[4096], out[4200];
    char where[64];
    if (resp) {
        double lat = 45.4 + 0.2 * chance(), lon = 9.1 + 0.2 * chance();
        lengths[index] = snprintf((char *)out, sizeof out, "SET fleet a POINT %.6f %.6f\r\n", lat, lon);
        messages[index] = malloc(lengths[index]);
        memcpy(messages[index], out, lengths[index]);
        return;
    }
    int n = text(body, "bench/fan");
    if (qos) { body[n++] = 0; body[n++] = 1; }
    if (version == 5 && located) {
        place(where, sizeof where);
        body[n] = property(body + n + 1, "location", where);
        n += 1 + body[n];
    } else if (version == 5) body[n++] = 0;
    memset(body + n, 'x', size);
    n += size;
    lengths[index] = packet(out, 0x30 | qos << 1, body, n);
    messages[index] = malloc(lengths[index]);
    memcpy(messages[index], out, lengths[index]);
}

static int id_at(const unsigned char *data) {      /* where the packet identifier is */
    int at = 1;
    while (data[at++] & 128);
    return at + 2 + (data[at] << 8 | data[at + 1]);
}

/* As below, for Tile38: a notification is an array, an answer to SET is none. */
static long consume_values(struct client *c, long *acknowledged) {
    int at = 0, end;
    long seen = 0;
    while (at < c->has && (end = value_end(c->in, at, c->has))) {
        if (c->in[at] == '*') seen++;
        else if (c->in[at] == '-') { fprintf(stderr, "%.*s", end - at, c->in + at); exit(1); }
        else (*acknowledged)++;
        at = end;
    }
    memmove(c->in, c->in + at, c->has - at);
    c->has -= at;
    return seen;
}

/* Counts the packets of a client's buffer, acknowledges deliveries; returns publications seen. */
static long consume(struct client *c, long *acknowledged) {
    static unsigned char out[65536];
    int at = 0, n = 0;
    long seen = 0;
    if (resp) return consume_values(c, acknowledged);
    while (c->has - at >= 2) {
        int rest = 0, shift = 0, body = at + 1;
        do { rest |= (c->in[body] & 127) << shift; shift += 7; } while (c->in[body++] & 128 && body < c->has);
        if (body + rest > c->has) break;
        int kind = c->in[at] >> 4;
        if (kind == 3) {
            seen++;
            if (c->in[at] & 6) {
                int id = body + 2 + (c->in[body] << 8 | c->in[body + 1]);
                out[n++] = 0x40; out[n++] = 2; out[n++] = c->in[id]; out[n++] = c->in[id + 1];
            }
        } else if (kind == 4) (*acknowledged)++;
        else { fprintf(stderr, "unexpected packet %02x\n", c->in[at]); exit(1); }
        at = body + rest;
    }
    memmove(c->in, c->in + at, c->has - at);
    c->has -= at;
    if (n) put(c->fd, out, n);
    return seen;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        int known = 0;
        for (unsigned o = 0; value && o < sizeof options / sizeof *options; o++)
            if (!strncmp(options[o].name, argv[i], value - argv[i]) && !options[o].name[value - argv[i]]) {
                known = 1;
                if (options[o].whole) *options[o].whole = atoi(value + 1);
                else *options[o].real = atof(value + 1);
            }
        if (!known) { fprintf(stderr, "what is %s?\n", argv[i]); return 2; }
    }
    srandom(1);
    int total = subscribers + publishers + (fences ? 1 : 0);
    clients = calloc(total, sizeof *clients);
    double began = now();
    for (int i = 0; i < subscribers; i++) clients[count++].fd = dial(i);
    double connected = now(), connected_cpu = server_cpu();
    for (int i = 0; i < subscribers && !hold; i++)
        if (resp) set_channel(clients[0].fd, i, radius);
        else subscribe(clients[i].fd, fences);
    double subscribed = now(), subscribed_cpu = server_cpu(), from_cpu = 0;
    for (int i = 0; i < subscribers && resp; i++) listen_to(i);
    if (hold) {      /* idle connections, until the standard input ends */
        printf("%d connected\n", subscribers);
        fflush(stdout);
        while (getchar() != EOF);
        return 0;
    }
    int witness = -1;
    if (fences) {
        witness = count++;
        clients[witness].fd = dial(witness);
        if (resp) {
            set_channel(clients[witness].fd, witness, 200000);
            listen_to(witness);
        } else subscribe(clients[witness].fd, 0);
    }
    int first = count;
    for (int i = 0; i < publishers; i++, count++) {
        clients[count].publisher = 1;
        clients[count].fd = dial(count);
    }
    for (int i = 0; i < places; i++) compose(i);
    int poll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        fcntl(clients[i].fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &event);
    }
    long published = 0, received = 0, acknowledged = 0, from = 0, published_from = 0;
    double start = now() + 0.5, end = start + seconds, time = now();
    int counting = 0, turn = 0;
    unsigned packet_id = 0;
    while (time < end) {
        long done = fences ? clients[witness].received : received / subscribers;
        if (qos && acknowledged < done) done = acknowledged;
        int sent = 0;
        while (published - done < window && sent < 64) {
            int index = published % places;
            if (qos) {
                int at = id_at(messages[index]);
                packet_id = packet_id % 65535 + 1;
                messages[index][at] = packet_id >> 8; messages[index][at + 1] = packet_id;
            }
            put(clients[first + turn].fd, messages[index], lengths[index]);
            turn = (turn + 1) % publishers;
            published++; sent++;
        }
        struct epoll_event events[256];
        int n = epoll_wait(poll, events, 256, published - done < window ? 0 : 100);
        for (int i = 0; i < n; i++) {
            struct client *c = &clients[events[i].data.u32];
            int got = read(c->fd, c->in + c->has, sizeof c->in - c->has);
            if (got <= 0) { if (got < 0 && errno == EAGAIN) continue; fail("a connection ended"); }
            c->has += got;
            long seen = consume(c, &acknowledged);
            c->received += seen; received += seen;
        }
        time = now();
        if (!counting && time >= start) {
            counting = 1; start = time; end = time + seconds;
            from = received; published_from = published; from_cpu = server_cpu();
            if (witness >= 0) from -= clients[witness].received;
        }
    }
    if (witness >= 0) received -= clients[witness].received;
    printf("{\"deliveries\": %ld, \"publications\": %ld, \"seconds\": %.4f, \"per_s\": %.0f, "
           "\"connect_us\": %.1f, \"subscribe_us\": %.1f, \"subscribe_cpu_us\": %.1f, \"cpu_us\": %.2f}\n",
           received - from, published - published_from, time - start, (received - from) / (time - start),
           (connected - began) / subscribers * 1e6, (subscribed - connected) / subscribers * 1e6,
           (subscribed_cpu - connected_cpu) / subscribers * 1e6,
           (server_cpu() - from_cpu) / (published - published_from + 1) * 1e6);
    return 0;
}
