/* SPDX-License-Identifier: Apache-2.0
 * The line about the host: its name, its GPUs combined, CPU and memory, drivers. The most useful comes first; the rest is omitted
 * where it does not fit.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "tui/draw.h"
#include "tui/setup.h"

enum { GAP = 3, PIECE = 96, LOAD_FROM = 110, IOWAIT_SHOWN = 50 };

struct host_words {
    const struct top *t;
    struct canvas *c;
    int x, y;
};

static bool wants(const struct host_words *h, enum host_field field)
{
    return setup_shows(&h->t->settings, SETUP_HOST, (int)field);
}

static void put_piece(struct host_words *h, enum tint tint, const char *text)
{
    int width = width_of(text);
    if (!text[0] || h->x + width > h->c->width - 1)
        return;
    canvas_text(h->c, h->x, h->y, width, tint, text);
    h->x += width + GAP;
}

static void put_power(struct host_words *h, const struct snapshot *s)
{
    struct reading total = {0};
    char text[PIECE];
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].power_mw.state == READING_OK)
            total = reading_ok(reading_or(total, 0) + s->gpus[i].power_mw.value);
    if (total.state != READING_OK || !wants(h, FIELD_POWER))
        return;
    double watts = (double)total.value / 1000;
    bool many = watts >= 10000;
    snprintf(text, sizeof text, many ? "%.1f kW" : "%.0f W", many ? watts / 1000 : watts);
    put_piece(h, TINT_PLAIN, text);
}

static void put_share(struct host_words *h, const struct page *page, enum host_field field, const char *label,
                      struct reading permille, const char *suffix)
{
    char text[PIECE], number[NUMBER_SIZE];
    if (permille.state != READING_OK || !wants(h, field))
        return;
    show_percent(number, page, permille);
    snprintf(text, sizeof text, "%s %s%s", label, number, suffix);
    put_piece(h, TINT_PLAIN, text);
}

static void put_of(struct host_words *h, const struct page *page, enum host_field field, const char *label, struct reading used,
                   struct reading total)
{
    char text[PIECE], number[NUMBER_SIZE];
    if (used.state != READING_OK || total.state != READING_OK || !wants(h, field))
        return;
    show_bytes_of(number, page, used, total);
    snprintf(text, sizeof text, "%s %s", label, number);
    put_piece(h, TINT_PLAIN, text);
}

static void put_drivers(struct host_words *h, const struct snapshot *s)
{
    struct gpu_driver drivers[DRIVERS_MAX];
    size_t count = snapshot_drivers(s, drivers);
    char text[PIECE] = "driver ";
    AUTO_BUF struct buf all = BUF(PIECE - 8);
    for (size_t i = 0; i < count; i++)
        buf_printf(&all, "%s%s%s%s", i ? ", " : "", drivers[i].name, drivers[i].version[0] ? " " : "", drivers[i].version);
    if (!all.len || all.failed || !wants(h, FIELD_DRIVERS))
        return;
    snprintf(text, sizeof text, "driver " STR_FMT, STR_ARG(buf_view(&all)));
    put_piece(h, TINT_DIM, text);
}

static void put_rates(struct host_words *h, const struct page *page, const struct host *host)
{
    char text[PIECE], in[NUMBER_SIZE], out[NUMBER_SIZE];
    const struct {
        const char *label;
        struct reading in, out;
    } rates[] = {{"disk", host->disk_read_bytes_per_s, host->disk_write_bytes_per_s},
                 {"network", host->net_rx_bytes_per_s, host->net_tx_bytes_per_s}};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        if (rates[i].in.state != READING_OK || !wants(h, FIELD_DISK + (enum host_field)i))
            continue;
        show_rate(in, page, rates[i].in);
        show_rate(out, page, rates[i].out);
        snprintf(text, sizeof text, page->utf8 ? "%s ↓ %s ↑ %s" : "%s in %s out %s", rates[i].label, in, out);
        put_piece(h, TINT_DIM, text);
    }
}

/* The host's own readings are those of now: a past moment has none. */
void draw_host_line(const struct top *t, struct canvas *c, int y)
{
    const struct snapshot *s = top_shown(t);
    struct page page = draw_page(t);
    struct host_words h = {t, c, 1, y};
    char text[PIECE];
    if (!s)
        return;
    const struct host *host = &s->host;
    put_piece(&h, TINT_STRONG, t->host ? t->host : host->name);
    if (s->gpu_count && s->gpus[0].simulated)
        put_piece(&h, TINT_WARN, "SIMULATED");
    size_t all = t->whole ? MAX_OF(t->whole->gpu_count, s->gpu_count) : s->gpu_count;
    snprintf(text, sizeof text, all > s->gpu_count ? "%zu of %zu GPUs" : all == 1 ? "%zu GPU" : "%zu GPUs", s->gpu_count, all);
    put_piece(&h, TINT_PLAIN, text);
    put_power(&h, s);
    if (!t->cursor_ms) {
        AUTO_BUF struct buf cpu = BUF(PIECE);
        if (host->cpu_count.state == READING_OK)
            buf_printf(&cpu, " of %lld", (long long)host->cpu_count.value);
        if (host->load1_milli.state == READING_OK && c->width >= LOAD_FROM)
            buf_printf(&cpu, ", load %.1f", (double)host->load1_milli.value / 1000);
        put_share(&h, &page, FIELD_CPU, "CPU", host->cpu_permille, cpu.len ? cpu.at : "");
        struct reading used = host->mem_total_bytes;
        used.value -= reading_or(host->mem_available_bytes, 0);
        put_of(&h, &page, FIELD_RAM, "RAM", host->mem_available_bytes.state == READING_OK ? used : host->mem_available_bytes,
               host->mem_total_bytes);
    }
    if (!t->cursor_ms && reading_or(host->cpu_iowait_permille, 0) >= IOWAIT_SHOWN)
        put_share(&h, &page, FIELD_IOWAIT, "I/O wait", host->cpu_iowait_permille, "");
    put_drivers(&h, s);
    if (!t->cursor_ms) {
        put_of(&h, &page, FIELD_SWAP, "swap", reading_or(host->swap_used_bytes, 0) ? host->swap_used_bytes : (struct reading){0},
               host->swap_total_bytes);
        put_rates(&h, &page, host);
    }
}
