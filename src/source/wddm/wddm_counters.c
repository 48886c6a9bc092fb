/* SPDX-License-Identifier: Apache-2.0
 * Reads the counters into rows. Instances come and go with processes between two reads, and their names are system text: rows that
 * don't parse, have no valid value or lie outside the buffer are dropped.
 */
#include "source/wddm/wddm.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const struct {
    const uint16_t *path;
    uint32_t format;
} known[WDDM_COUNTERS] = {
    [COUNTER_UTILIZATION] = {u"\\GPU Engine(*)\\Utilization Percentage", PDH_FORMAT_DOUBLE | PDH_FORMAT_NO_CAP},
    [COUNTER_DEDICATED] = {u"\\GPU Adapter Memory(*)\\Dedicated Usage", PDH_FORMAT_LARGE},
    [COUNTER_SHARED] = {u"\\GPU Adapter Memory(*)\\Shared Usage", PDH_FORMAT_LARGE},
    [COUNTER_PROCESS_DEDICATED] = {u"\\GPU Process Memory(*)\\Dedicated Usage", PDH_FORMAT_LARGE},
    [COUNTER_PROCESS_SHARED] = {u"\\GPU Process Memory(*)\\Shared Usage", PDH_FORMAT_LARGE},
};

int wddm_counters_open(struct wddm_counters *c, const struct wddm_calls *calls, struct error *err)
{
    *c = (struct wddm_counters){.calls = calls};
    uint32_t status = calls->open_query(NULL, 0, &c->query);
    if (status) {
        c->query = NULL;
        return error_set(err, -ENODEV, "performance counters cannot be read (PDH 0x%08x)", (unsigned)status);
    }
    size_t there = 0;
    for (size_t i = 0; i < WDDM_COUNTERS; i++) {
        status = calls->add_counter(c->query, known[i].path, 0, &c->counters[i]);
        if (status)
            c->counters[i] = NULL;
        there += c->counters[i] != NULL;
    }
    if (there)
        return 0;
    wddm_counters_close(c);
    return error_set(err, -ENODEV, "this system has no performance counters of GPUs (PDH 0x%08x): Windows 10 1709 and later do",
                     (unsigned)status);
}

void wddm_counters_close(struct wddm_counters *c)
{
    if (c->query)
        c->calls->close_query(c->query);
    free(c->rows);
    *c = (struct wddm_counters){0};
}

/* ---- names of instances ---- */

static bool cut_word(struct str *rest, const char *word)
{
    if (!str_starts(*rest, word))
        return false;
    size_t len = strlen(word);
    *rest = (struct str){rest->at + len, rest->len - len};
    return true;
}

static bool cut_number(struct str *rest, uint32_t *ret)
{
    struct str digits;
    uint64_t value;
    if (!str_cut(rest, '_', &digits) || !str_to_u64(digits, &value) || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static enum wddm_engine engine_of(struct str type)
{
    return str_is_any_case(type, "3D")                                                             ? ENGINE_3D
           : str_starts(type, "Compute") || str_starts(type, "Cuda") || str_starts(type, "Neural") ? ENGINE_COMPUTE
           : str_starts(type, "VideoEncode") || str_starts(type, "Video Encode")                   ? ENGINE_ENCODE
           : str_starts(type, "VideoDecode") || str_starts(type, "Video Decode")                   ? ENGINE_DECODE
                                                                                                   : ENGINE_OTHER;
}

bool wddm_instance_parse(struct str name, struct wddm_row *ret)
{
    enum { ENGINES_MOST = 1 << 16 };
    uint32_t pid = 0, high, low, physical = 0, engine = 0;
    if (cut_word(&name, "pid_") && (!cut_number(&name, &pid) || pid > INT32_MAX))
        return false;
    if (!cut_word(&name, "luid_") || !cut_number(&name, &high) || !cut_number(&name, &low))
        return false;
    if (cut_word(&name, "phys_") && !cut_number(&name, &physical))
        return false;
    if (cut_word(&name, "eng_") && !cut_number(&name, &engine))
        return false;
    if (physical >= ENGINES_MOST || engine >= ENGINES_MOST)
        return false;
    *ret = (struct wddm_row){.luid = (uint64_t)high << 32 | low, .pid = (int32_t)pid, .engine = physical << 16 | engine};
    if (cut_word(&name, "engtype_"))
        ret->type = engine_of(name);
    return true;
}

/* ---- values ---- */

/* The name as ASCII; false if it isn't terminated inside the buffer, or not one of ours. */
static bool take_name(const struct pdh_item *item, const void *buffer, size_t size, char *to, size_t room, struct str *ret)
{
    uintptr_t from = (uintptr_t)buffer, at = (uintptr_t)item->name;
    if (at < from || at >= from + size || at % sizeof(uint16_t))
        return false;
    size_t max = (from + size - at) / sizeof(uint16_t), len = 0;
    for (; len < max && len < room && item->name[len]; len++) {
        if (item->name[len] > 0x7e)
            return false;
        to[len] = (char)item->name[len];
    }
    *ret = (struct str){to, len};
    return len < max && len < room;
}

static bool take_value(enum wddm_counter counter, const struct pdh_item *item, int64_t *ret)
{
    enum { PERMILLE_PER_PERCENT = 10 };
    if (item->status > 1)
        return false;
    if (counter != COUNTER_UTILIZATION) {
        *ret = item->whole;
        return item->whole >= 0;
    }
    if (!(item->real >= 0 && item->real <= 1e6)) /* also rejects NaN */
        return false;
    *ret = (int64_t)(item->real * PERMILLE_PER_PERCENT + 0.5);
    return true;
}

static void add_row(struct wddm_counters *c, const struct wddm_row *row)
{
    if (c->count == WDDM_ROWS_MAX || !ROOM_FOR_ONE(c->rows, c->count, c->capacity, 256))
        c->left_out++;
    else
        c->rows[c->count++] = *row;
}

/* The counter's values in a new buffer; NULL with a state other than READING_OK, or if there are none. */
static struct pdh_item *read_values(struct wddm_counters *c, enum wddm_counter which, uint32_t *ret_size, uint32_t *ret_count)
{
    enum { TRIES = 4, BYTES_MOST = 64 << 20, SPARE = 4096 };
    uint32_t size = 0, count = 0, status = PDH_MORE_DATA;
    struct pdh_item *items = NULL;
    for (int i = 0; i < TRIES && status == PDH_MORE_DATA && size <= BYTES_MOST; i++) {
        free(items);
        items = NULL;
        size += size ? SPARE : 0; /* processes may start between two calls */
        if (size && !(items = malloc(size)))
            break;
        *ret_size = size;
        status = c->calls->values(c->counters[which], known[which].format, &size, &count, items);
    }
    bool pending = which == COUNTER_UTILIZATION && c->collected < 2;
    bool empty = status == PDH_NO_DATA || status == PDH_CSTATUS_NO_INSTANCE;
    bool fits = items && count <= *ret_size / sizeof *items;
    if (status == 0 && (fits || !count)) {
        c->states[which] = pending ? READING_PENDING : READING_OK;
    } else {
        bool gone = status == PDH_CSTATUS_NO_OBJECT || status == PDH_CSTATUS_NO_COUNTER;
        c->states[which] = pending                       ? READING_PENDING
                           : empty                       ? READING_OK
                           : status == PDH_ACCESS_DENIED ? READING_DENIED
                           : gone                        ? READING_UNSUPPORTED
                                                         : READING_FAILED;
        count = 0;
    }
    *ret_count = count;
    return items;
}

static void read_counter(struct wddm_counters *c, enum wddm_counter which)
{
    enum { NAME_MOST = 192 };
    uint32_t size = 0, count = 0;
    if (!c->counters[which]) {
        c->states[which] = READING_UNSUPPORTED;
        return;
    }
    AUTO_FREE struct pdh_item *items = read_values(c, which, &size, &count);
    for (uint32_t i = 0; i < count && c->states[which] == READING_OK; i++) {
        char text[NAME_MOST];
        struct str name;
        struct wddm_row row;
        int64_t value;
        if (!take_value(which, &items[i], &value) || !take_name(&items[i], items, size, text, sizeof text, &name) ||
            !wddm_instance_parse(name, &row))
            continue;
        bool of_process = which != COUNTER_DEDICATED && which != COUNTER_SHARED;
        if (of_process != (row.pid != 0))
            continue;
        row.counter = which;
        row.value = value;
        add_row(c, &row);
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct wddm_row *x = a, *y = b;
    return x->luid != y->luid ? (x->luid < y->luid ? -1 : 1) : x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : 0;
}

int wddm_counters_refresh(struct wddm_counters *c, struct error *err)
{
    c->count = c->left_out = 0;
    uint32_t status = c->calls->collect(c->query);
    /* Without any process on any GPU there is nothing to collect. */
    if (status && status != PDH_NO_DATA) {
        c->collected = 0;
        for (size_t i = 0; i < WDDM_COUNTERS; i++)
            c->states[i] = status == PDH_ACCESS_DENIED ? READING_DENIED : READING_FAILED;
        return error_set(err, status == PDH_ACCESS_DENIED ? -EACCES : -EIO, "performance counters cannot be read (PDH 0x%08x)",
                         (unsigned)status);
    }
    c->collected = MIN_OF(c->collected + 1, 2);
    for (size_t i = 0; i < WDDM_COUNTERS; i++)
        read_counter(c, (enum wddm_counter)i);
    if (c->count)
        qsort(c->rows, c->count, sizeof c->rows[0], compare_rows);
    return 0;
}
