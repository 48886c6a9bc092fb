/* SPDX-License-Identifier: Apache-2.0
 * The frame around the views: tabs, the line about the host, the headline, keys at the bottom; and the screen of a moment that is
 * not stored.
 */
#include "tui/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/area/part.h"
#include "insight/view/why.h"
#include "tui/fleet_rows.h"
#include "tui/setup.h"

/* Moments further back than SECONDS_SHOWN_MS have no seconds; GPU names longer than NAME_SHOWN lose their brand. */
enum { SECONDS_SHOWN_MS = 6 * 3600 * 1000, NAME_SHOWN = 14, NUMBERED_FROM = 110 };

struct page draw_page(const struct top *t)
{
    const struct snapshot *s = top_shown(t);
    return (struct page){.width = t->width, .utf8 = t->utf8, .now = s ? s->taken_at : t->now};
}

const struct verdict *draw_verdict(const struct top *t)
{
    const struct snapshot *s = top_shown(t);
    const struct why *why = top_shown_why(t);
    return s && s->verdict ? s->verdict : why ? why->verdict : NULL;
}

static enum tint severity_tint(enum severity severity)
{
    return severity == SEVERITY_CRITICAL ? TINT_BAD : severity == SEVERITY_WARNING ? TINT_WARN : TINT_PLAIN;
}

enum tint draw_heat_tint(const struct top *t, const struct gpu *gpu)
{
    const struct verdict *v = draw_verdict(t);
    for (size_t i = 0; v && i < v->count; i++)
        if (v->findings[i].gpu_index == gpu->index && finding_kind(v->findings[i].code)->area == AREA_HEAT)
            return severity_tint(v->findings[i].severity);
    return TINT_PLAIN;
}

const char *draw_gpu_name(const struct gpu *gpu)
{
    const char *name = gpu->id.name[0] ? gpu->id.name : "GPU";
    size_t maker = strlen(gpu->id.vendor);
    if (maker && strncasecmp(name, gpu->id.vendor, maker) == 0 && strchr(name, ' '))
        name = strchr(name, ' ') + 1;
    /* Of a long name, also drops the brand if a number follows. */
    const char *last = strrchr(name, ' ');
    const char *brand = strchr(name, ' ');
    return brand && last && brand != last && strlen(name) > NAME_SHOWN && strpbrk(brand, "0123456789") ? brand + 1 : name;
}

/* ---- header ---- */

static void clock_text(const struct top *t, char text[64], bool host_line)
{
    const struct snapshot *s = top_shown(t);
    bool simulated = !host_line && s && s->gpu_count && s->gpus[0].simulated;
    char at[MOMENT_TEXT_SIZE] = "";
    bool past = t->cursor_ms && top_tab_has_past(t->tab);
    struct wall shown = {past ? t->cursor_ms : t->now.ms};
    time_t seconds = (time_t)(shown.ms / MS_PER_S);
    struct tm local;
    if (t->now.ms - shown.ms >= SECONDS_SHOWN_MS)
        moment_format(shown, t->now, at);
    else if (t->now.ms && localtime_r(&seconds, &local))
        strftime(at, sizeof at, "%H:%M:%S", &local);
    snprintf(text, 64, "%s%s%s", simulated ? "SIMULATED " : "",
             past && t->waiting ? "looking up "
             : past             ? "PAST "
             : t->paused        ? "PAUSED "
                                : "",
             at);
}

static const char *const tab_names[TAB_COUNT] = {"Overview", "Why", "Alerts", "Health", "Forecast", "Energy", "Guard", "Hosts"};

static void draw_header(struct top *t, struct canvas *c, bool host_line)
{
    char clock[64];
    clock_text(t, clock, host_line);
    /* Nothing in the last column: after it the cursor's position is undefined, so the clock would need a move each second. */
    int right = c->width - 1 - width_of(clock), x = 1;
    x += canvas_text(c, x, 0, 5, TINT_STRONG, "whirr");
    canvas_flag(c, 1, 0, 5, CELL_BOLD);
    x += 2;
    bool all = c->width >= 78;
    int tabs = (int)top_tab_count(t);
    for (int i = 0; i < tabs; i++) {
        if (!all && i != (int)t->tab)
            continue;
        char name[16];
        snprintf(name, sizeof name, c->width >= NUMBERED_FROM ? "%2$d %1$s" : "%1$s", tab_names[i], i + 1);
        int from = x, width = width_of(name);
        if (x + width + 2 > right)
            break;
        canvas_text(c, x + 1, 0, width, i == (int)t->tab ? TINT_STRONG : TINT_DIM, name);
        if (i == (int)t->tab)
            canvas_flag(c, x, 0, width + 2, CELL_REVERSE);
        x += width + 2;
        top_zone(t, ZONE_TAB, from, 0, width + 2, 1, all ? i : (i + 1) % tabs);
    }
    bool past = t->cursor_ms && top_tab_has_past(t->tab);
    canvas_right(c, x, 0, c->width - 1 - x, past || t->paused ? TINT_WARN : TINT_DIM, clock);
    if (past)
        canvas_flag(c, right, 0, c->width - 1 - right, CELL_BOLD);
}

/* ---- headline ---- */

/* The color of the worst finding; green up to information. */
static enum tint urgency(const struct verdict *v, const struct snapshot *s, int only)
{
    const struct finding *first = only == ALL_GPUS ? verdict_main(v) : verdict_first(v, s->gpus[only].index);
    return first && first->severity > SEVERITY_INFO ? severity_tint(first->severity) : TINT_GOOD;
}

static const char *headline(const struct top *t, enum tint *tint)
{
    bool past = top_tab_has_past(t->tab);
    const struct why *why = past ? top_shown_why(t) : t->why;
    const struct snapshot *s = past ? top_shown(t) : t->live;
    if (!s) {
        *tint = t->trouble[0] ? TINT_BAD : TINT_DIM;
        return t->trouble[0] ? t->trouble : "Sampling...";
    }
    bool one = t->only != ALL_GPUS && t->only < (int)s->gpu_count;
    *tint = urgency(s->verdict ? s->verdict : why ? why->verdict : NULL, s, one ? t->only : ALL_GPUS);
    if (one && why && t->only < (int)why->gpu_count)
        return why->gpus[t->only].answer;
    if (why && why->answer[0])
        return why->answer;
    return s->gpu_count ? "" : "No GPU was found on this host.";
}

void draw_drop_asides(char *text)
{
    for (char *from, *to; (from = strstr(text, " (")) && (to = strchr(from, ')'));)
        memmove(from, to + 1, strlen(to));
}

/* Drops the sentences that don't fit; of the first one, its asides if that is enough, then what follows its main clause. */
static void shorten(char *text, int width, int lines)
{
    static const char *const ends[] = {". ", ", where ", " because "};
    char brief[WHY_TEXT_SIZE + 130];
    for (size_t i = 0; i < ARRAY_LEN(ends) && canvas_wrap_lines(width, text) > lines; i++) {
        if (i == 1) {
            str_copy(brief, sizeof brief, str_from(text));
            draw_drop_asides(brief);
            if (canvas_wrap_lines(width, brief) <= lines) {
                str_copy(text, sizeof brief, str_from(brief));
                return;
            }
        }
        for (char *last = text; last && canvas_wrap_lines(width, text) > lines;) {
            last = NULL;
            for (char *at = text; (at = strstr(at, ends[i])); at++)
                last = at;
            if (last)
                last[i == 0] = '\0'; /* keeps the period */
        }
    }
}

/* The host line says so once. */
static void drop_simulated(char *text)
{
    size_t len = strlen("simulated ");
    for (char *at = text; (at = strcasestr(at, "simulated GPU"));)
        memmove(at, at + len, strlen(at + len) + 1);
}

static int draw_headline(struct top *t, struct canvas *c, int y, int lines)
{
    enum tint tint;
    char named[WHY_TEXT_SIZE + 130], text[WHY_TEXT_SIZE + 130];
    const char *words = t->fleet ? draw_fleet_headline(t, named, sizeof named, &tint) : headline(t, &tint);
    snprintf(text, sizeof text, "%s%s%s", t->host && words[0] ? t->host : "", t->host && words[0] ? ": " : "", words);
    drop_simulated(text);
    shorten(text, c->width - 4, lines);
    canvas_text(c, 1, y, 1, tint, tint == TINT_GOOD || tint == TINT_DIM ? "●" : "▲");
    int used = canvas_wrap(c, 3, y, c->width - 4, lines, TINT_STRONG, text);
    used = MAX_OF(used, 1);
    for (int i = 0; i < used; i++)
        canvas_flag(c, 3, y + i, c->width - 4, CELL_BOLD);
    if (!t->fleet)
        top_zone(t, ZONE_HEADLINE, 0, y, c->width, used, 0);
    return used;
}

/* Draws the first piece of advice in up to a fifth of the screen. Returns the lines it took. */
static int draw_advice(struct top *t, struct canvas *c, int y)
{
    const struct why_part *part = top_tab_has_past(t->tab) ? top_why_part(t) : NULL;
    enum { LABEL = 3 };
    if (!part || !part->suggestion_count || part->severity <= SEVERITY_INFO || t->tab != TAB_OVERVIEW)
        return 0;
    canvas_text(c, 3, y, LABEL, TINT_LABEL, "Do");
    int used = canvas_wrap(c, 3 + LABEL, y, c->width - 4 - LABEL, c->height / 5, TINT_PLAIN, part->suggestions[0]);
    top_zone(t, ZONE_HEADLINE, 0, y, c->width, used, 0);
    return used;
}

/* ---- bottom ---- */

struct key_hint {
    int key;
    const char *name, *what;
};

static int draw_hints(struct top *t, struct canvas *c, const struct key_hint *keys, size_t count, int x, int y)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = !t->utf8 && keys[i].key == TOP_KEY_LEFT ? "<- ->" : keys[i].name;
        int width = width_of(name) + 1 + width_of(keys[i].what), from = x;
        if (x + width > c->width - 1)
            break;
        x += canvas_text(c, x, y, 10, TINT_LABEL, name) + 1;
        x += canvas_text(c, x, y, c->width, TINT_DIM, keys[i].what) + 2;
        top_zone(t, ZONE_KEY, from, y, width, 1, keys[i].key);
    }
    return x;
}

static void draw_fleet_keys(struct top *t, struct canvas *c, int x, int y)
{
    char command[HOST_NAME_SIZE + 32];
    const struct key_hint opened[] = {{TOP_KEY_ESCAPE, "Esc", "back"}, {'c', "c", command}, {'s', "s", "sort"}};
    static const struct key_hint all[] = {
        {TOP_KEY_ENTER, "Enter", "open"}, {'/', "/", "filter"},       {'s', "s", "sort"}, {'r', "r", "reverse"}, {'v', "v", "rows"},
        {TOP_KEY_TAB, "Tab", "view"},     {'c', "c", "copy command"},
    };
    snprintf(command, sizeof command, "copy: whirr --host %s top", t->fleet->open);
    if (t->fleet->open[0])
        draw_hints(t, c, opened, ARRAY_LEN(opened), x, y);
    else
        draw_hints(t, c, all, ARRAY_LEN(all), x, y);
    draw_fleet_place(t, c, y);
}

/* Keys of all views first, then those of this one. */
static void draw_keys(struct top *t, struct canvas *c, int y)
{
    static const struct key_hint always[] = {{'?', "?", "help"}, {'q', "q", "quit"}};
    static const struct key_hint overview[] = {
        {TOP_KEY_ENTER, "Enter", "open"},
        {'a', "a", "act"},
        {TOP_KEY_LEFT, "←→", "time"},
        {'/', "/", "filter"},
        {'s', "s", "sort"},
        {'t', "t", "group"},
        {'q', "q", "quit"},
        {'w', "w", "window"},
        {'p', "p", "pause"},
        {'2', "2", "why"},
        {TOP_KEY_TAB, "Tab", "view"},
        {']', "[ ]", "GPU"},
        {'d', "d", "details"},
        {'g', "g", "go to time"},
        {'c', "c", "copy command"},
        {'o', "o", "setup"},
        {'f', "f", "fit"},
        {'W', "W", "save settings"},
    };
    static const struct key_hint texts[] = {
        {TOP_KEY_ESCAPE, "Esc", "back"},
        {TOP_KEY_TAB, "Tab", "view"},
        {TOP_KEY_DOWN, "up/down", "scroll"},
        {TOP_KEY_LEFT, "←→", "time"},
        {']', "[ ]", "GPU"},
        {'c', "c", "copy command"},
        {'p', "p", "pause"},
    };
    static const struct key_hint guard[] = {
        {TOP_KEY_ESCAPE, "Esc", "back"}, {TOP_KEY_TAB, "Tab", "view"}, {'e', "e", "evict"}, {'H', "H", "hold"},
        {'x', "x", "release"},           {'R', "R", "resume"},         {'f', "f", "fit"},
    };
    static const struct key_hint hosts[] = {
        {TOP_KEY_ENTER, "Enter", "look at it"},
        {TOP_KEY_DOWN, "up/down", "choose"},
        {'>', "< >", "host"},
        {TOP_KEY_TAB, "Tab", "view"},
    };
    static const struct key_hint setup[] = {
        {TOP_KEY_ESCAPE, "Esc", "back"},
        {' ', "Space", "change"},
        {TOP_KEY_DOWN, "up/down", "choose"},
        {TOP_KEY_TAB, "Tab", "what to set"},
        {'J', "J K", "move"},
        {'r', "r", "defaults"},
        {'W', "W", "save"},
    };
    if (t->mode == MODE_SETUP) {
        draw_hints(t, c, setup, ARRAY_LEN(setup), 1, y);
        return;
    }
    static const struct key_hint past[] = {
        {'n', "n", "now"},          {TOP_KEY_LEFT, "←→", "step"}, {'{', "{ }", "ten steps"},        {'(', "( )", "event"},
        {'g', "g", "go to a time"}, {'w', "w", "window"},         {TOP_KEY_ENTER, "Enter", "open"},
    };
    bool overview_shown = !t->fleet && t->tab == TAB_OVERVIEW && !t->cursor_ms;
    int x = draw_hints(t, c, always, overview_shown ? 1 : ARRAY_LEN(always), 1, y);
    if (t->fleet)
        draw_fleet_keys(t, c, x, y);
    else if (overview_shown)
        draw_hints(t, c, overview, ARRAY_LEN(overview), x, y);
    else if (t->cursor_ms && top_tab_has_past(t->tab))
        draw_hints(t, c, past, ARRAY_LEN(past), x, y);
    else if (t->tab == TAB_GUARD)
        draw_hints(t, c, guard, ARRAY_LEN(guard), x, y);
    else if (t->tab == TAB_HOSTS)
        draw_hints(t, c, hosts, ARRAY_LEN(hosts), x, y);
    else
        draw_hints(t, c, texts, ARRAY_LEN(texts), x, y);
}

static void draw_prompt(struct canvas *c, int y, const char *label, const char *text, const char *hint)
{
    int x = 1;
    x += canvas_text(c, x, y, c->width, TINT_LABEL, label) + 1;
    x += canvas_text(c, x, y, c->width - x - 1, TINT_STRONG, text);
    canvas_put(c, x, y, TINT_STRONG, ' ');
    canvas_flag(c, x, y, 1, CELL_REVERSE);
    canvas_text(c, x + 2, y, c->width - x - 3, TINT_DIM, hint);
}

/* The event nearest to the cursor, within a column or so. */
static const struct top_mark *mark_at_cursor(const struct top *t)
{
    const struct top_mark *found = NULL;
    int64_t within = MAX_OF(t->settings.window_ms / 120, t->interval_ms), nearest = INT64_MAX;
    for (size_t i = 0; t->cursor_ms && i < t->mark_count; i++) {
        int64_t away = llabs(t->marks[i].at_ms - t->cursor_ms);
        if (away <= within && away < nearest) {
            found = &t->marks[i];
            nearest = away;
        }
    }
    return found;
}

static void draw_mark(struct canvas *c, const struct top *t, const struct top_mark *m, int y)
{
    char text[sizeof m->text + MOMENT_TEXT_SIZE + 4], at[MOMENT_TEXT_SIZE] = "";
    moment_format((struct wall){m->at_ms}, t->now, at);
    snprintf(text, sizeof text, "%s  %s", at, m->text);
    canvas_put(c, 1, y, m->bad ? TINT_BAD : TINT_LABEL, mark_sign(t, m));
    canvas_text(c, 3, y, c->width - 4, TINT_STRONG, text);
}

static void draw_bottom(struct top *t, struct canvas *c, int y)
{
    if (t->mode == MODE_FILTER)
        draw_prompt(c, y, "Filter:", t->filter, "Enter keeps it, Esc clears it");
    else if (t->mode == MODE_GOTO)
        draw_prompt(c, y, "Go to:", t->input, "03:10, -2h, yesterday 22:00");
    else if (t->mode == MODE_FIT)
        draw_prompt(c, y, "Fit:", t->input, "24GiB or a model's path: where would it fit?");
    else if (t->note[0])
        canvas_text(c, 1, y, c->width - 2, t->note_bad ? TINT_BAD : TINT_STRONG, t->note);
    else if (mark_at_cursor(t))
        draw_mark(c, t, mark_at_cursor(t), y);
    else if (t->trouble[0] && (t->live || (t->fleet && t->fleet->known)))
        canvas_text(c, 1, y, c->width - 2, TINT_BAD, t->trouble);
    else
        draw_keys(t, c, y);
}

/* ---- the line about the host: the most useful comes first; the rest is left out where it does not fit ---- */

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

/* ---- a moment that is not stored: says so, and offers the nearest stored moments ---- */

enum { KEYS_INDENT = 10 };

/* With seconds, like the header: gaps begin and end within a minute. */
static void moment_text(const struct top *t, int64_t at_ms, char text[MOMENT_TEXT_SIZE + 4])
{
    char at[MOMENT_TEXT_SIZE];
    moment_format((struct wall){at_ms}, t->now, at);
    snprintf(text, MOMENT_TEXT_SIZE + 4, "%s:%02d", at, (int)(at_ms / MS_PER_S % 60));
}

static void center(struct canvas *c, int y, enum tint tint, const char *text)
{
    int width = MIN_OF(width_of(text), c->width - 2);
    canvas_wrap(c, (c->width - width) / 2, y, width, c->height - 1 - y, tint, text);
}

static int draw_key(struct top *t, struct canvas *c, int y, int key, const char *what)
{
    int x = MIN_OF((int)KEYS_INDENT, c->width / 8);
    canvas_put(c, x, y, TINT_LABEL, (uint32_t)key);
    int used = canvas_text(c, x + 3, y, c->width - x - 4, TINT_PLAIN, what);
    top_zone(t, ZONE_KEY, x, y, 3 + used, 1, key);
    return y + 1;
}

static int draw_jump(struct top *t, struct canvas *c, int y, int key, int64_t to_ms, const char *which)
{
    char at[MOMENT_TEXT_SIZE + 4], text[128];
    if (!to_ms)
        return y;
    moment_text(t, to_ms, at);
    snprintf(text, sizeof text, "%s, the %s", at, which);
    return draw_key(t, c, y, key, text);
}

static void draw_missing(struct top *t, struct canvas *c)
{
    const struct top_missing *m = &t->missing;
    char at[MOMENT_TEXT_SIZE + 4], text[256];
    int bottom = c->height - 1, y = MAX_OF(c->height / 3, 2);
    if (t->live) {
        snprintf(text, sizeof text, "%s   %zu GPU%s", t->host ? t->host : t->live->host.name, t->live->gpu_count,
                 t->live->gpu_count == 1 ? "" : "s");
        canvas_text(c, 1, 1, c->width - 2, TINT_DIM, text);
    }
    moment_text(t, m->at_ms, at);
    snprintf(text, sizeof text, m->unanswered ? "%s can't be looked up." : "%s is not stored.", at);
    center(c, y, TINT_STRONG, text);
    center(c, y + 2, TINT_PLAIN, m->text);
    y += 4 + (width_of(m->text) > c->width - 2);
    y = draw_jump(t, c, y, '(', m->since_ms, "last moment before");
    y = draw_jump(t, c, y, ')', m->until_ms, "first moment after");
    y = draw_key(t, c, y, 'n', "now");
    draw_key(t, c, y, 'g', "go to a time");
    draw_bottom(t, c, bottom);
}

/* ---- all together ---- */

/* The GPUs' rows matter more than the line about the host, unless they don't fit anyway. */
static bool has_host_line(const struct top *t, const struct canvas *c, int lines)
{
    const struct snapshot *s = top_shown(t);
    int rows = s ? (int)s->gpu_count + 1 : 0, room = c->height - 3 - lines;
    return s && !t->fleet && c->width >= 50 && c->height >= 18 && (rows + PROCESSES_MIN <= room || rows > room);
}

static void draw_overview(struct top *t, struct canvas *c, int y, int bottom)
{
    /* Processes get at least a heading and three rows, or a third of a low screen. */
    const struct snapshot *s = top_shown(t);
    int rest = bottom - y, reserved = MIN_OF((int)PROCESSES_MIN, MAX_OF(rest / 3, 2));
    if (s && (int)s->gpu_count + 1 == rest - reserved + 1) /* one process less, but rows of GPUs instead of a heat map */
        reserved--;
    if (s && c->width < BRIEF_BELOW && s->gpu_count > 2 && (int)s->gpu_count + 1 <= rest) /* rows come before processes */
        reserved = MIN_OF(reserved, rest - (int)s->gpu_count - 1);
    y += draw_gpus(t, c, y, rest - reserved);
    if (c->height >= 36 && (int)t->row_count + 2 < bottom - y)
        y++;
    if (bottom - y >= 2)
        draw_processes(t, c, y, bottom - y);
}

void draw_frame(struct top *t, struct canvas *c)
{
    canvas_clear(c);
    c->utf8 = t->utf8;
    c->blocks = t->settings.blocks;
    t->zone_count = 0;
    const struct snapshot *s = top_shown(t);
    if (t->mode == MODE_SETUP || (t->missing.at_ms && top_tab_has_past(t->tab)))
        draw_header(t, c, false);
    if (t->mode == MODE_SETUP) {
        draw_setup(t, c, 1, c->height - 2);
        draw_bottom(t, c, c->height - 1);
        return;
    }
    if (t->missing.at_ms && top_tab_has_past(t->tab)) {
        draw_missing(t, c);
        if (t->mode >= MODE_HELP)
            draw_dialog(t, c);
        return;
    }
    int rows_and_rest = s ? (int)s->gpu_count + 12 : 0;
    int lines = c->height >= 40 ? 3 : c->height >= 30 || (s && c->height >= 20 && rows_and_rest <= c->height) ? 2 : 1;
    int y = 1, bottom = c->height - 1;
    bool host_line = has_host_line(t, c, lines);
    draw_header(t, c, host_line);
    if (host_line)
        draw_host_line(t, c, y++);
    y += draw_headline(t, c, y, lines);
    /* On a small screen each GPU's row comes before the advice. */
    int rows = s && !t->fleet && t->tab == TAB_OVERVIEW && c->width < BRIEF_BELOW && s->gpu_count > 2 ? (int)s->gpu_count + 1 : 0;
    if (!t->fleet && c->height >= 12 && (rows + 3 <= bottom - y || rows > bottom - y))
        y += draw_advice(t, c, y);
    if (c->height >= 30)
        y++;
    if (t->fleet)
        draw_fleet(t, c, y, bottom - y);
    else if (t->tab == TAB_OVERVIEW)
        draw_overview(t, c, y, bottom);
    else
        draw_tab(t, c, y, bottom - y);
    draw_bottom(t, c, bottom);
    if (t->mode >= MODE_HELP)
        draw_dialog(t, c);
}
