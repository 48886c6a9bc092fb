/* SPDX-License-Identifier: Apache-2.0
 * Missing hosts and GPUs, according to `fleet.expect`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "config/host_range.h"
#include "fleet/fleet.h"

/* A host's own name; hosts that share one are shown as "name (address)". */
static const char *own_name(const char *shown, char own[HOST_NAME_SIZE])
{
    const char *address = strstr(shown, " (");
    str_copy(own, HOST_NAME_SIZE, (struct str){shown, address ? (size_t)(address - shown) : strlen(shown)});
    return own;
}

/* The first entry that matches the host counts; -1: none. */
static int64_t gpus_expected(const struct config_list *expect, const char *shown)
{
    struct host_range r;
    char own[HOST_NAME_SIZE];
    for (size_t i = 0; i < expect->count; i++)
        if (host_range_parse(str_from(expect->items[i]), &r) && host_range_has(&r, own_name(shown, own)))
            return r.count;
    return -1;
}

static bool is_there(const struct fleet *f, const char *host)
{
    char own[HOST_NAME_SIZE];
    bool found = fleet_has_gpus(f, host);
    for (size_t i = 0; i < f->gpu_count && !found; i++)
        found = strcmp(own_name(f->gpus[i].host, own), host) == 0;
    return found;
}

/* Lists missing GPUs, ": 3, 7"; "" if they can't be identified. */
static void name_missing(const struct fleet_gpu *gpus, size_t count, int64_t expected, char *text, size_t size)
{
    AUTO_BUF struct buf out = BUF(1024);
    int64_t named = 0;
    for (int64_t index = 0; gpus && index < expected; index++) {
        char own[24];
        bool there = false;
        snprintf(own, sizeof own, "%lld", (long long)index);
        for (size_t i = 0; i < count; i++)
            there |= strcmp(gpus[i].gpu, own) == 0;
        if (!there)
            buf_printf(&out, "%s%s", named++ ? ", " : ": ", own);
    }
    text[0] = '\0';
    if (gpus && named == expected - (int64_t)count && count)
        str_copy(text, size, buf_view(&out));
}

static int expect_gpus(struct fleet *f, const char *host, const struct fleet_gpu *gpus, size_t count, int64_t expected)
{
    char which[128], text[200];
    struct fleet_note *n = expected >= 0 ? fleet_note_of(f, host) : NULL;
    if (!n)
        return expected >= 0 ? -ENOMEM : 0;
    n->expected_gpus = expected;
    if ((int64_t)count >= expected)
        return 0;
    f->missing += (size_t)expected - count;
    name_missing(gpus, count, expected, which, sizeof which);
    snprintf(text, sizeof text, "%lld of %lld GPUs %s missing%s", (long long)(expected - (int64_t)count), (long long)expected,
             expected - (int64_t)count == 1 ? "is" : "are", which);
    fleet_note_add(n, "gpus_missing", EFFECT_DEGRADED, text);
    return 0;
}

/* For hosts that are up: checks their GPUs. */
static int check_present(struct fleet *f, const struct config_list *expect)
{
    int rc = 0;
    for (size_t i = 0; i < f->sum_count && rc == 0; i++)
        rc = expect_gpus(f, f->sums[i].host, NULL, (size_t)reading_or(f->sums[i].gpus, 0), gpus_expected(expect, f->sums[i].host));
    if (f->sum_count)
        return rc;
    for (size_t i = 0, end; i < f->gpu_count && rc == 0; i = end) {
        for (end = i + 1; end < f->gpu_count && strcmp(f->gpus[end].host, f->gpus[i].host) == 0; end++)
            ;
        rc = expect_gpus(f, f->gpus[i].host, &f->gpus[i], end - i, gpus_expected(expect, f->gpus[i].host));
    }
    return rc;
}

/* A host without any GPU is up if it reports on itself; otherwise it was never seen. The GPUs of a host with a wrong clock are
 * unknown. */
static int check_host(struct fleet *f, const char *host, int64_t expected)
{
    if (is_there(f, host))
        return 0;
    size_t before = f->note_count;
    struct fleet_note *n = fleet_note_of(f, host);
    if (!n)
        return -ENOMEM;
    n->expected_gpus = expected;
    if (f->note_count > before) {
        n->silent = true;
        n->expected_only = true;
    }
    return n->silent || n->ahead_ms ? 0 : expect_gpus(f, host, NULL, 0, expected);
}

int fleet_expect(struct fleet *f, const struct config_list *expect)
{
    int rc = expect ? check_present(f, expect) : 0;
    for (size_t i = 0; expect && i < expect->count && rc == 0; i++) {
        struct host_range r;
        if (!host_range_parse(str_from(expect->items[i]), &r))
            continue;
        for (int64_t k = 0; k < host_range_names(&r) && rc == 0; k++) {
            char host[HOST_NAME_SIZE];
            host_range_name(&r, k, host, sizeof host);
            rc = check_host(f, host, r.count);
        }
    }
    return rc;
}
