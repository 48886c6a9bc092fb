/* SPDX-License-Identifier: Apache-2.0
 * NCCL's RAS protocol: lines of text, and one answer until the connection ends.
 *
 *   CLIENT PROTOCOL 2  ─▶  SERVER PROTOCOL 2
 *   TIMEOUT 3          ─▶  OK
 *   SET FORMAT json    ─▶  OK, before 2.28.7 ERROR: ...
 *   STATUS             ─▶  {...}, and it closes
 */
#include "remote/ras.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/talk.h"

enum { LINE_MAX_LEN = 256, RANKS_MAX = 1 << 20 };

/* ---- the answer ---- */

static bool is_true(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_true(value) || json_integer_value(value) != 0;
}

static void add_missing(struct ras_report *r, const json_t *rank)
{
    const json_t *number = json_object_get(rank, "rank"), *status = json_object_get(rank, "status");
    if (!json_is_integer(number) || json_integer_value(number) < 0 || json_integer_value(number) > RANKS_MAX)
        return;
    for (size_t i = 0; i < r->missing_count; i++) /* known from another communicator of the job */
        if (r->missing[i].rank == json_integer_value(number)) {
            r->missing[i].dead |= is_true(status, "considered_dead");
            return;
        }
    if (r->missing_count == RAS_MISSING_MAX)
        return;
    struct ras_rank *m = &r->missing[r->missing_count++];
    *m = (struct ras_rank){.rank = json_integer_value(number), .dead = is_true(status, "considered_dead")};
    str_copy_clean(m->host, sizeof m->host, str_from(json_string_value(json_object_get(rank, "host"))));
}

int ras_parse(struct str text, struct ras_report *ret)
{
    *ret = (struct ras_report){0};
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *list = json_object_get(root, "communicators");
    int rc = json_is_array(list) ? 0 : -EINVAL;
    size_t i, k;
    const json_t *communicator, *rank;
    json_array_foreach(list, i, communicator)
    {
        int64_t count = json_integer_value(json_object_get(communicator, "missing_ranks_count"));
        ret->communicators++;
        ret->missing_total = MAX_OF(ret->missing_total, count);
        json_array_foreach(json_object_get(communicator, "missing_ranks"), k, rank) add_missing(ret, rank);
    }
    return rc;
}

bool ras_port(struct str address, uint16_t *ret)
{
    struct str_place place;
    if (!str_to_place(address, &place) || place.port <= 0 || place.port > UINT16_MAX)
        return false;
    *ret = (uint16_t)place.port;
    return true;
}

/* ---- the connection ---- */

/* One byte at a time: the bytes after the line belong to the next answer. */
static int talk_line(const struct talk *t, char line[LINE_MAX_LEN])
{
    for (size_t len = 0; len + 1 < LINE_MAX_LEN; len++) {
        ssize_t n = talk_hear(t, line + len, 1);
        if (n <= 0)
            return n < 0 ? (int)n : -ECONNRESET;
        if (line[len] == '\n') {
            line[len] = '\0';
            return 0;
        }
    }
    return -EPROTO;
}

static int talk_rest(const struct talk *t, struct buf *out)
{
    char piece[16384];
    for (;;) {
        ssize_t n = talk_hear(t, piece, sizeof piece);
        if (n <= 0)
            return (int)n;
        buf_str(out, (struct str){piece, (size_t)n});
        if (out->failed)
            return -EFBIG;
    }
}

/* Sends a question and checks the start of its answer. */
static int talk_expect(const struct talk *t, const char *question, const char *answer, int otherwise)
{
    char line[LINE_MAX_LEN];
    int rc = talk_say(t, question);
    rc = rc < 0 ? rc : talk_line(t, line);
    return rc < 0 ? rc : strncasecmp(line, answer, strlen(answer)) == 0 ? 0 : otherwise;
}

int ras_ask(const char *address, uint16_t port, int64_t timeout_ms, const _Atomic bool *cancel, struct ras_report *ret,
            struct error *err)
{
    struct talk t;
    AUTO_BUF struct buf answer = BUF(RAS_ANSWER_MAX);
    int rc = talk_open(&t, address, port, timeout_ms, cancel);
    rc = rc < 0 ? rc : talk_expect(&t, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ", -EPROTO);
    rc = rc < 0 ? rc : talk_expect(&t, "TIMEOUT 3\n", "OK", -EPROTO);
    rc = rc < 0 ? rc : talk_expect(&t, "SET FORMAT json\n", "OK", -ENOTSUP);
    rc = rc < 0 ? rc : talk_say(&t, "STATUS\n");
    rc = rc < 0 ? rc : talk_rest(&t, &answer);
    talk_close(&t);
    rc = rc < 0 ? rc : ras_parse(buf_view(&answer), ret);
    return rc < 0 ? error_set(err, rc, "NCCL's RAS at %s:%u: %s", address, port, strerror(-rc)) : 0;
}
