/* SPDX-License-Identifier: Apache-2.0
 * Readings that need only one look: memory, load, pressure.
 */

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

void machine_read_memory(const struct env *env, struct host *out)
{
    char text[8192];
    ssize_t len = file_read_head(env, "/proc/meminfo", text, sizeof text);
    enum { TOTAL, AVAILABLE, FREE, BUFFERS, CACHED, SWAP_TOTAL, SWAP_FREE, LINES };
    static const char *const names[LINES] = {
        "MemTotal:", "MemAvailable:", "MemFree:", "Buffers:", "Cached:", "SwapTotal:", "SwapFree:"};
    struct reading lines[LINES];
    for (size_t i = 0; i < LINES; i++)
        lines[i] = reading_absent(len < 0 ? reading_state_from_errno((int)len) : READING_UNSUPPORTED);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, name, number;
    while (str_cut(&rest, '\n', &line)) {
        int64_t kib;
        if (!str_word(&line, &name) || !str_word(&line, &number) || !str_to_i64(number, &kib) || kib < 0 || kib > INT64_MAX / 1024)
            continue;
        size_t which = NAME_FIND(names, name);
        if (which < LINES)
            lines[which] = reading_ok(kib * 1024);
    }
    /* Kernels before 3.14 don't estimate available memory. */
    if (lines[AVAILABLE].state != READING_OK && lines[FREE].state == READING_OK)
        lines[AVAILABLE] = reading_ok(lines[FREE].value + reading_or(lines[BUFFERS], 0) + reading_or(lines[CACHED], 0));
    out->mem_total_bytes = lines[TOTAL];
    out->mem_used_permille = lines[TOTAL].state == READING_OK ? lines[AVAILABLE] : lines[TOTAL];
    if (out->mem_used_permille.state == READING_OK && lines[TOTAL].value > 0) {
        double used = (double)MAX_OF(lines[TOTAL].value - lines[AVAILABLE].value, 0);
        out->mem_used_permille = reading_ok((int64_t)(used * 1000.0 / (double)lines[TOTAL].value + 0.5));
    }
    out->mem_available_bytes = lines[AVAILABLE];
    out->swap_total_bytes = lines[SWAP_TOTAL];
    out->swap_used_bytes = lines[SWAP_FREE];
    if (lines[SWAP_TOTAL].state == READING_OK && lines[SWAP_FREE].state == READING_OK)
        out->swap_used_bytes = reading_ok(MAX_OF(lines[SWAP_TOTAL].value - lines[SWAP_FREE].value, 0));
}

void machine_read_load(const struct env *env, struct host *out)
{
    char text[128];
    ssize_t len = file_read_head(env, "/proc/loadavg", text, sizeof text);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, word;
    int64_t milli;
    if (len > 0 && str_word(&rest, &word) && str_to_scaled(word, 1000, &milli))
        out->load1_milli = reading_ok(milli);
    else
        out->load1_milli = reading_absent(len < 0 ? reading_state_from_errno((int)len) : READING_FAILED);
}

/* "some avg10=1.23 avg60=0.50 avg300=0.10 total=1234": the first average of a line. */
static struct reading average_of(struct str text, const char *kind)
{
    struct str line, word;
    while (str_cut(&text, '\n', &line)) {
        int64_t permille;
        if (!str_word(&line, &word) || !str_is(word, kind))
            continue;
        if (str_word(&line, &word) && str_starts(word, "avg10=") &&
            str_to_scaled((struct str){word.at + 6, word.len - 6}, 10, &permille) && permille >= 0)
            return reading_ok(MIN_OF(permille, (int64_t)1000));
        return reading_absent(READING_FAILED);
    }
    return reading_absent(READING_UNSUPPORTED);
}

void machine_read_pressure(const struct env *env, struct host *out)
{
    const struct {
        const char *path;
        struct reading *some, *full;
    } files[] = {
        {"/proc/pressure/cpu", &out->cpu_pressure_permille, NULL},
        {"/proc/pressure/memory", &out->mem_pressure_permille, &out->mem_stall_permille},
        {"/proc/pressure/io", &out->io_pressure_permille, &out->io_stall_permille},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char text[512];
        ssize_t len = file_read_head(env, files[i].path, text, sizeof text);
        struct str view = {text, len > 0 ? (size_t)len : 0};
        struct reading failed = reading_absent(reading_state_from_errno((int)MIN_OF(len, (ssize_t)0)));
        *files[i].some = len < 0 ? failed : average_of(view, "some");
        if (files[i].full)
            *files[i].full = len < 0 ? failed : average_of(view, "full");
    }
}
