/* A neutral load for HTTP servers: connections that stay, one request under way on each.

   usage: http_load PORT CONNECTIONS SECONDS METHOD PATH [BODY]
   In PATH, # is the connection's number. After a warm-up of half a second answers are counted.
   Answers other than 2xx end it. Prints: answers, seconds, per_s, p50_us, p99_us. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { MOST = 1024, ROOM = 65536 };

struct connection { char request[2048], in[ROOM]; int length, has; double sent; };

static struct connection connections[MOST];
static struct pollfd waiting[MOST];
static double *times;
static long answers, room;

static int dial(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (void *)&to, sizeof to)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void compose(struct connection *c, int number, char **argv, const char *body) {
    char path[1024] = "";
    for (const char *at = argv[5]; *at; at++) {
        int n = strlen(path);
        if (*at == '#') snprintf(path + n, sizeof path - n, "%d", number);
        else snprintf(path + n, sizeof path - n, "%c", *at);
    }
    c->length = snprintf(c->request, sizeof c->request,
                         "%s %s HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\n"
                         "content-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                         argv[4], path, strlen(body), body);
}

static void ask(int number) {
    struct connection *c = &connections[number];
    c->has = 0;
    c->sent = now();
    for (int done = 0; done < c->length;) {
        int n = write(waiting[number].fd, c->request + done, c->length - done);
        if (n < 0) fail("write");
        done += n;
    }
}

static const char *header(const struct connection *c, const char *end, const char *name) {
    for (const char *line = c->in; line < end; line = strstr(line, "\r\n") + 2)
        if (!strncasecmp(line, name, strlen(name))) return line + strlen(name);
    return NULL;
}

/* Whether all of an answer is there. */
static int whole(struct connection *c) {
    c->in[c->has] = 0;
    char *end = strstr(c->in, "\r\n\r\n");
    if (!end) return 0;
    if (c->in[9] != '2') { fprintf(stderr, "%.300s\n", c->in); exit(1); }
    const char *length = header(c, end, "content-length:");
    if (length) return c->has >= end + 4 - c->in + atoi(length);
    if (header(c, end, "transfer-encoding:")) return strstr(end, "\r\n0\r\n\r\n") != NULL;
    return 1;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc < 6 || atoi(argv[2]) > MOST) { fprintf(stderr, "see the top of the source\n"); return 2; }
    int port = atoi(argv[1]), count = atoi(argv[2]);
    double seconds = atof(argv[3]);
    room = 1 << 22;
    times = malloc(room * sizeof *times);
    for (int i = 0; i < count; i++) {
        waiting[i] = (struct pollfd){.fd = dial(port), .events = POLLIN};
        compose(&connections[i], i, argv, argc > 6 ? argv[6] : "");
        ask(i);
    }
    double start = now() + 0.5, time = now();
    while (time < start + seconds) {
        if (poll(waiting, count, 5000) <= 0) { fprintf(stderr, "no answer for 5 s\n"); return 1; }
        for (int i = 0; i < count; i++) {
            if (!waiting[i].revents) continue;
            struct connection *c = &connections[i];
            int n = read(waiting[i].fd, c->in + c->has, ROOM - 1 - c->has);
            if (n <= 0) fail("a connection ended");
            c->has += n;
            if (!whole(c)) continue;
            if (now() >= start && answers < room) times[answers++] = now() - c->sent;
            ask(i);
        }
        time = now();
    }
    qsort(times, answers, sizeof *times, compare);
    printf("{\"answers\": %ld, \"seconds\": %.4f, \"per_s\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           answers, time - start, answers / (time - start), answers ? times[answers / 2] * 1e6 : 0,
           answers ? times[answers * 99 / 100] * 1e6 : 0);
    return 0;
}
