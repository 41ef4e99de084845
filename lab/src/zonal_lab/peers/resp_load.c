/* Questions to a server that speaks RESP (Redis, Tile38), over one connection.

   usage: resp_load PORT FILE BATCH LEAST WARM
   FILE has a question a line: its words apart by spaces, alternatives apart by tabs. BATCH questions
   go out in one write, then all their answers are awaited. The next alternative is asked as long as
   an answer holds fewer than LEAST items; an answer's items are those of its list, or of the list
   that is the last of it behind something else (Tile38's answers begin with a cursor). The first
   WARM questions are in no figure. An answer that is an error ends it.
   Prints: questions, seconds, items, p50_us, p99_us (of a batch). */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { ROOM = 1 << 16, MOST_ALTERNATIVES = 16 };

struct command { char *text; int length; };
struct question { struct command alternatives[MOST_ALTERNATIVES]; int count; };

static int server;
static char in[ROOM];
static int at, has;

static void fill(void) {
    at = 0;
    has = read(server, in, ROOM);
    if (has <= 0) { fprintf(stderr, "the server closed the connection\n"); exit(1); }
}

static char next(void) {
    if (at == has) fill();
    return in[at++];
}

static void pass(long count) {
    while (count) {
        if (at == has) fill();
        long some = count < has - at ? count : has - at;
        at += some;
        count -= some;
    }
}

/* Read an answer to its end: how many items it holds, and whether it is a list at all. */
static long items_of_answer(int *is_list) {
    char line[256];
    int length = 0, first = 0, last = 0;
    for (char each = next(); each != '\r'; each = next())
        if (length < (int)sizeof line - 1) line[length++] = each;
    line[length] = 0;
    next();
    *is_list = line[0] == '*';
    if (line[0] == '-') { fprintf(stderr, "the server says: %s\n", line + 1); exit(1); }
    long count = atol(line + 1), in_last = 0;
    if (line[0] == '$' && count >= 0) pass(count + 2);
    if (line[0] != '*' || count < 1) return 0;
    for (long i = 0; i < count; i++) {
        in_last = items_of_answer(&last);
        if (!i) first = last;
    }
    return !first && last ? in_last : count;
}

static struct command encoded(char *words) {
    int count = 1, length = 0;
    for (char *each = words; *each; each++) count += *each == ' ';
    char *text = malloc(strlen(words) + 16 * (count + 1)), *rest;
    length = sprintf(text, "*%d\r\n", count);
    for (char *each = strtok_r(words, " ", &rest); each; each = strtok_r(NULL, " ", &rest))
        length += sprintf(text + length, "$%zu\r\n%s\r\n", strlen(each), each);
    return (struct command){text, length};
}

static struct question *read_questions(const char *path, long *count) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    struct question *found = NULL;
    char *line = NULL, *rest;
    size_t size = 0;
    for (ssize_t n; (n = getline(&line, &size, file)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        found = realloc(found, (*count + 1) * sizeof *found);
        struct question *q = &found[(*count)++];
        q->count = 0;
        for (char *each = strtok_r(line, "\t", &rest); each && q->count < MOST_ALTERNATIVES;
             each = strtok_r(NULL, "\t", &rest))
            q->alternatives[q->count++] = encoded(each);
    }
    return found;
}

static long asked_one(const struct question *q, long least) {
    long items = 0;
    int is_list;
    for (int i = 0; i < q->count && (!i || items < least); i++) {
        put(server, q->alternatives[i].text, q->alternatives[i].length);
        items = items_of_answer(&is_list);
    }
    return items;
}

static long asked_together(const struct question *questions, long count) {
    static char *out;
    static long room;
    long length = 0, items = 0;
    int is_list;
    for (long i = 0; i < count; i++) {
        const struct command *each = &questions[i].alternatives[0];
        if (length + each->length > room) out = realloc(out, room = 2 * (length + each->length));
        memcpy(out + length, each->text, each->length);
        length += each->length;
    }
    put(server, out, length);
    for (long i = 0; i < count; i++) items += items_of_answer(&is_list);
    return items;
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "see the top of the source\n"); return 2; }
    long batch = atol(argv[3]), least = atol(argv[4]), warm = atol(argv[5]);
    long count = 0, items = 0, batches = 0;
    struct question *questions = read_questions(argv[2], &count);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (void *)&to, sizeof to)) fail("connect");
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (long i = 0; i < warm && i < count; i++) asked_one(&questions[i], least);
    double *times = malloc((count + 1) * sizeof *times), start = now();
    for (long i = warm; i < count; i += batch) {
        double begun = now();
        long some = count - i < batch ? count - i : batch;
        items += batch > 1 ? asked_together(questions + i, some) : asked_one(questions + i, least);
        times[batches++] = now() - begun;
    }
    double took = now() - start;
    if (!batches) { fprintf(stderr, "nothing was asked\n"); return 1; }
    qsort(times, batches, sizeof *times, ascending);
    printf("{\"questions\": %ld, \"seconds\": %.6f, \"items\": %ld, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           count - warm, took, items, times[batches / 2] * 1e6, times[batches * 99 / 100] * 1e6);
    return 0;
}
