/* A steady rate through an MQTT 3.1.1 broker: one publisher, one subscriber, QoS 0, 64 bytes.

   usage: steady PORT RATE SECONDS
   A message carries when it was due; a late one is sent at once, so waiting counts. After a
   warm-up of a second latencies are kept. Prints: sent, received, p50_us, p99_us. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { PAYLOAD = 64, HEAD = 2 + 2 + 5, WHOLE = HEAD + PAYLOAD };

static void answer(int fd, int wanted) {
    unsigned char in[256];
    int has = 0;
    while (has < 2 || has < 2 + in[1]) {
        if (read(fd, in + has, 1) != 1) fail("read");
        has++;
    }
    if (in[0] >> 4 != wanted) { fprintf(stderr, "unexpected packet %02x\n", in[0]); exit(1); }
}

static int dial(int port, char name) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (void *)&to, sizeof to)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* With a keep-alive of an hour: rumqttd takes nobody without one. */
    unsigned char hello[] = {0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 3600 >> 8, 3600 & 255, 0, 1, name};
    put(fd, hello, sizeof hello);
    answer(fd, 2);
    return fd;
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int port = atoi(argv[1]);
    double rate = atof(argv[2]), seconds = atof(argv[3]);
    int reader = dial(port, 's'), writer = dial(port, 'p');
    unsigned char wish[] = {0x82, 10, 0, 1, 0, 5, 'p', 'e', 'e', 'r', 's', 0};
    put(reader, wish, sizeof wish);
    answer(reader, 9);
    fcntl(reader, F_SETFL, O_NONBLOCK);
    unsigned char message[WHOLE] = {0x30, WHOLE - 2, 0, 5, 'p', 'e', 'e', 'r', 's'};
    memset(message + HEAD, 'x', PAYLOAD);
    static unsigned char in[1 << 16];
    long most = (long)(rate * (seconds + 2)) + 10, sent = 0, received = 0, kept = 0;
    double *took = malloc(most * sizeof *took);
    double start = now(), warm = start + 1, end = warm + seconds, last = end + 2;
    int has = 0;
    for (double time = start; time < last && (time < end || received < sent); time = now()) {
        while (time < end && start + sent / rate <= time) {
            double due = start + sent / rate;
            memcpy(message + HEAD, &due, sizeof due);
            put(writer, message, WHOLE);
            sent++;
        }
        struct pollfd asked = {.fd = reader, .events = POLLIN};
        double wait = time < end ? start + sent / rate - now() : 0.01;
        struct timespec pause = {.tv_nsec = wait > 0 ? (long)(wait * 1e9) : 0};
        if (ppoll(&asked, 1, &pause, 0) < 1) continue;
        int got = read(reader, in + has, sizeof in - has), at = 0;
        if (got <= 0) { if (got < 0 && errno == EAGAIN) continue; fail("the connection ended"); }
        time = now();
        for (has += got; has - at >= WHOLE; at += WHOLE) {
            double due;
            if (in[at] >> 4 != 3 || in[at + 1] != WHOLE - 2) { fprintf(stderr, "what is this?\n"); return 1; }
            memcpy(&due, in + at + HEAD, sizeof due);
            received++;
            if (due >= warm && kept < most) took[kept++] = time - due;
        }
        memmove(in, in + at, has -= at);
    }
    qsort(took, kept, sizeof *took, ascending);
    if (!kept) { fprintf(stderr, "nothing arrived\n"); return 1; }
    printf("{\"sent\": %ld, \"received\": %ld, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", sent, received,
           took[kept / 2] * 1e6, took[kept * 99 / 100] * 1e6);
    return 0;
}
