/* What the loads share: an error ends them, a clock, and a write that goes on until all is out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline void fail(const char *what) { perror(what); exit(1); }

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void put(int fd, const void *data, int n) {
    const char *at = data;
    while (n) {
        int done = write(fd, at, n);
        if (done < 0 && errno != EAGAIN) fail("write");
        if (done > 0) { at += done; n -= done; }
    }
}
