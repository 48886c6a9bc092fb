/* SPDX-License-Identifier: Apache-2.0
 * The loop: waits for keys and news, performs requests, draws.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/cli.h"
#include "ask/hosts.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "guard/guard_target.h"
#include "tui/draw.h"
#include "tui/feed/feed.h"
#include "tui/fleet_rows.h"
#include "tui/setup.h"
#include "tui/terminal/screen.h"
#include "tui/top.h"

enum { TICK_MS = 1000, ONCE_TIMEOUT_MS = 10000, ONCE_SAMPLES = 2 };

/* One host: this one, the one of --host, or one of several. */
struct live_host {
    struct cli cli;
    struct top top;
    struct feed *feed; /* NULL: not started yet */
    struct feed_options feeds;
    bool chosen;
};

struct live {
    const struct live_options *options;
    struct live_host *hosts;
    const struct top **tops; /* all hosts, for the view of them */
    size_t count, at;        /* at: the one on screen. A fleet is the last */
    bool has_fleet;
    struct canvas canvas;
    bool ended;
    struct error refused; /* why it ended at once: no such GPU */
    char theme[16];       /* of the screen; "" none is open */
};

static struct live_host *shown_host(struct live *l)
{
    return &l->hosts[l->at];
}

static int start_feed(struct live_host *h)
{
    struct error err = {0};
    h->feed = feed_start(&h->cli, &h->feeds, &err);
    if (h->feed)
        return EXIT_FINE;
    return err.code == -EINVAL ? cli_usage(&h->cli, "%s", err.text) : cli_fail("%s", err.text);
}

static int open_host(struct live *l, size_t i, const struct cli *cli, const struct top_settings *settings)
{
    struct live_host *h = &l->hosts[i];
    bool several = cli->host_count > 1, fleet = l->has_fleet && i + 1 == l->count;
    h->cli = *cli;
    if (several) {
        h->cli.host = cli->hosts[i];
        h->cli.among_hosts = true;
    }
    top_init(&h->top, settings);
    l->tops[i] = &h->top;
    h->top.utf8 = cli->page.utf8;
    h->top.allow_signals = l->options->allow_signals;
    h->top.read_only = l->options->read_only;
    h->top.interval_ms = fleet ? l->options->fleet_interval_ms : l->options->interval_ms;
    h->top.price_per_kwh = cli->settings ? cli->settings->energy.price_per_kwh : 0;
    h->top.currency = cli->settings ? cli->settings->energy.currency : "";
    h->top.host = h->cli.host;
    h->top.has_fleet = l->has_fleet;
    if (several) {
        h->top.hosts = l->tops;
        h->top.host_count = l->count;
    }
    if (several || fleet)
        h->top.tab = TAB_HOSTS;
    if (fleet && !(h->top.fleet = top_fleet_new()))
        return cli_fail("out of memory");
    /* Start-up must not fail for a host behind the fleet view: it may have nothing to show. */
    if (cli->ask.gpu)
        str_copy(h->top.settings.gpus, sizeof h->top.settings.gpus, str_from(cli->ask.gpu));
    h->feeds = (struct feed_options){h->top.interval_ms, l->options->record, fleet ? l->options->fleet : NULL, h->top.settings.gpus,
                                     several || (l->has_fleet && l->options->fleet_first)};
    return i == l->at || several ? start_feed(h) : EXIT_FINE;
}

_Static_assert(SCREEN_NEWS_MAX >= HOSTS_MAX + 1, "each host has news, and so has a fleet");

static int live_open(struct live *l, struct cli *cli, const struct top_settings *settings, const struct live_options *options)
{
    bool fleet = options->fleet && cli->host_count <= 1;
    *l = (struct live){.options = options, .count = MAX_OF(cli->host_count, (size_t)1) + fleet, .has_fleet = fleet};
    l->at = fleet && options->fleet_first ? l->count - 1 : 0;
    l->hosts = calloc(l->count, sizeof *l->hosts);
    l->tops = calloc(l->count, sizeof *l->tops);
    if (!l->hosts || !l->tops)
        return cli_fail("out of memory");
    int status = EXIT_FINE;
    for (size_t i = 0; i < l->count && status == EXIT_FINE; i++)
        status = open_host(l, i, cli, settings);
    return status;
}

static void live_close(struct live *l)
{
    for (size_t i = 0; l->hosts && i < l->count; i++) {
        if (l->hosts[i].feed)
            feed_stop(l->hosts[i].feed);
        top_done(&l->hosts[i].top);
    }
    canvas_done(&l->canvas);
    free(l->tops);
    free(l->hosts);
}

/* ---- requests ---- */

static void signal_process(struct live_host *h, const struct top_request *w)
{
    struct error err = {0};
    char text[TOP_NOTE_SIZE];
    struct claim_identity who = {.pid = w->pid, .start_key = w->start_key};
    if (target_signal(&h->cli.env, who, (int)w->number, &err) < 0) {
        top_note(&h->top, true, err.text);
        return;
    }
    snprintf(text, sizeof text, "Signaled %s (PID %d).", w->text, w->pid);
    top_note(&h->top, false, text);
}

static void renice_process(struct live_host *h, const struct top_request *w)
{
    struct error err = {0};
    char text[TOP_NOTE_SIZE];
    struct claim_identity who = {.pid = w->pid, .start_key = w->start_key};
    int before = 0, after = 0;
    if (target_renice(&h->cli.env, who, (int)w->number, &before, &after, &err) < 0)
        str_copy(text, sizeof text, str_from(err.text));
    else
        snprintf(text, sizeof text, "Nice of %s (PID %d): %d, before %d.", w->text, w->pid, after, before);
    top_note(&h->top, err.code != 0, text);
}

static void save(struct live *l)
{
    struct error err = {0};
    struct top *t = &shown_host(l)->top;
    char note[TOP_NOTE_SIZE];
    snprintf(note, sizeof note, "Saved in %s.", l->options->prefs);
    if (prefs_save(l->options->prefs, &t->settings, &err) < 0)
        top_note(t, true, err.text);
    else
        top_note(t, false, note);
}

static void apply_theme(struct live *l)
{
    const struct top *t = &shown_host(l)->top;
    if (l->theme[0] && strcmp(l->theme, t->settings.theme) != 0) {
        str_copy(l->theme, sizeof l->theme, str_from(t->settings.theme));
        screen_theme(l->theme);
    }
}

static void switch_host(struct live *l, size_t to)
{
    if (to >= l->count)
        return;
    const struct top *from = &shown_host(l)->top;
    l->at = to;
    if (from != &shown_host(l)->top)
        top_switch(&shown_host(l)->top, from);
    else
        shown_host(l)->top.tab = TAB_OVERVIEW;
}

/* Switches from this host to the fleet, or back. */
static void switch_view(struct live *l, enum top_tab tab)
{
    struct live_host *to = &l->hosts[tab == TAB_HOSTS ? l->count - 1 : 0];
    struct error err = {0};
    if (!to->feed && !(to->feed = feed_start(&to->cli, &to->feeds, &err))) {
        top_note(&shown_host(l)->top, true, err.text);
        return;
    }
    switch_host(l, (size_t)(to - l->hosts));
    if (tab == TAB_HOSTS)
        return;
    top_open_tab(&to->top, tab);
    if (l->hosts[l->count - 1].feed) /* query a database only while its hosts are on screen */
        feed_stop(TAKE(l->hosts[l->count - 1].feed));
}

static void serve_requests_of(struct live *l, struct live_host *h)
{
    struct top_request w;
    while ((w = top_next_request(&h->top)).kind != REQUEST_NOTHING) {
        switch (w.kind) {
        case REQUEST_END: l->ended = true; break;
        case REQUEST_STOP: screen_stop(); break;
        case REQUEST_COPY: screen_copy(w.text); break;
        case REQUEST_SAVE: save(l); break;
        case REQUEST_SIGNAL: signal_process(h, &w); break;
        case REQUEST_NICE: renice_process(h, &w); break;
        case REQUEST_HOST: switch_host(l, (size_t)w.number); break;
        case REQUEST_VIEW: switch_view(l, (enum top_tab)w.number); break;
        default:
            if (h->feed)
                feed_ask(h->feed, &w);
            break;
        }
    }
}

static void serve_requests(struct live *l)
{
    for (size_t i = 0; i < l->count; i++)
        serve_requests_of(l, &l->hosts[i]);
    apply_theme(l); /* the keys may have changed it */
}

/* Applies --gpu to the first sample. One of several hosts may lack that GPU; a single host ends the program. */
static void choose_gpu(struct live *l, struct live_host *h)
{
    struct error err = {0};
    if (h->chosen || !h->top.live)
        return;
    h->chosen = true;
    struct gpu_choice choice;
    if (!h->top.settings.gpus[0] || snapshot_find_gpus(h->top.whole, h->top.settings.gpus, &choice))
        return;
    if (!h->cli.ask.gpu) {
        char note[TOP_NOTE_SIZE];
        snprintf(note, sizeof note, "All GPUs are shown: there is no GPU for each of '%.80s' (top.toml).", h->top.settings.gpus);
        top_note(&h->top, true, note);
        return;
    }
    session_no_gpu(&h->cli, h->top.whole, h->cli.ask.gpu, &err);
    if (h->cli.among_hosts) {
        top_note(&h->top, true, err.text);
    } else {
        l->refused = err;
        l->ended = true;
    }
}

/* Applies the news of all hosts; true if the screen needs an update. */
static bool take_news(struct live *l)
{
    bool any = false;
    for (size_t i = 0; i < l->count; i++) {
        struct news *n;
        while (l->hosts[i].feed && (n = mailbox_take(feed_news(l->hosts[i].feed), 0))) {
            news_take(n, &l->hosts[i].top);
            choose_gpu(l, &l->hosts[i]);
            any = any || i == l->at || (!l->has_fleet && shown_host(l)->top.tab == TAB_HOSTS);
        }
    }
    return any;
}

/* ---- the screen ---- */

static void resize(struct live *l)
{
    int width, height;
    screen_size(&width, &height);
    if (canvas_resize(&l->canvas, width, height) < 0)
        l->ended = true;
    top_resize(&shown_host(l)->top, l->canvas.width, l->canvas.height);
}

static bool take_input(struct live *l)
{
    enum { CTRL_L = 12 };
    bool any = false;
    for (struct screen_event e; !l->ended && (e = screen_next()).kind != SCREEN_NOTHING; any = true) {
        switch (e.kind) {
        case SCREEN_KEY:
            if (e.key == CTRL_L)
                screen_redraw();
            else if (e.key)
                top_key(&shown_host(l)->top, e.key);
            break;
        case SCREEN_CLICK: top_mouse(&shown_host(l)->top, TOP_CLICK, e.x, e.y); break;
        case SCREEN_DRAG: top_mouse(&shown_host(l)->top, TOP_DRAG, e.x, e.y); break;
        case SCREEN_WHEEL_UP: top_mouse(&shown_host(l)->top, TOP_WHEEL_UP, e.x, e.y); break;
        case SCREEN_WHEEL_DOWN: top_mouse(&shown_host(l)->top, TOP_WHEEL_DOWN, e.x, e.y); break;
        case SCREEN_RESIZE: resize(l); break;
        case SCREEN_NOTHING: break;
        }
        serve_requests(l);
    }
    return any;
}

static void loop(struct live *l)
{
    bool changed = true;
    while (!l->ended && !screen_signal()) {
        if (changed) {
            draw_frame(&shown_host(l)->top, &l->canvas);
            screen_show(&l->canvas);
        }
        int news[SCREEN_NEWS_MAX];
        for (size_t i = 0; i < l->count; i++)
            news[i] = l->hosts[i].feed ? mailbox_fd(feed_news(l->hosts[i].feed)) : -1;
        if (!screen_wait(news, l->count, TICK_MS))
            break;
        if (screen_wants_stop()) {
            screen_stop();
        }
        changed = take_news(l);
        changed = take_input(l) || changed;
        serve_requests(l);
    }
}

int live_run(struct cli *cli, const struct top_settings *settings, const struct live_options *options)
{
    struct live *l = calloc(1, sizeof *l);
    if (!l)
        return cli_fail("out of memory");
    struct error err = {0};
    int status = screen_load(&err) < 0 ? cli_fail("`whirr top` %s; `whirr top --once` does without", err.text)
                                       : live_open(l, cli, settings, options);
    if (status == EXIT_FINE &&
        screen_open(cli->page.utf8, cli->page.color, options->direct_color, settings->theme, options->mouse) < 0)
        status = cli_fail("cannot draw on this terminal; `whirr top --once` prints one frame");
    else if (status == EXIT_FINE) {
        str_copy(l->theme, sizeof l->theme, str_from(settings->theme));
        resize(l);
        loop(l);
        screen_close();
        status = l->refused.code ? cli_fail("%s", l->refused.text) : EXIT_FINE;
    }
    live_close(l);
    free(l);
    return status;
}

/* Waits for two samples, which rates need, or one and the daemon's history. A fleet is complete in its first answer. */
static void wait_once(struct live *l, struct live_host *h)
{
    struct mono begun = clock_mono(&clock_system);
    int64_t within_ms = h->top.fleet ? FEED_FLEET_TIMEOUT_MS + MS_PER_S : ONCE_TIMEOUT_MS;
    int samples = 0;
    top_resize(&h->top, l->canvas.width, l->canvas.height);
    while (samples < ONCE_SAMPLES && mono_since_ms(clock_mono(&clock_system), begun) < within_ms && !h->top.trouble[0]) {
        struct news *n = mailbox_take(feed_news(h->feed), TICK_MS);
        if (!n)
            continue;
        samples += n->kind == NEWS_FLEET ? ONCE_SAMPLES : n->kind == NEWS_SAMPLE || (n->kind == NEWS_SERIES && n->series_count);
        news_take(n, &h->top);
        choose_gpu(l, h);
        if (l->ended || (h->top.live && !h->top.live->gpu_count))
            break;
        serve_requests(l);
    }
}

int live_once(struct cli *cli, const struct top_settings *settings, const struct live_options *options)
{
    struct live *l = calloc(1, sizeof *l);
    AUTO_BUF struct buf text = BUF(4 << 20);
    if (!l)
        return cli_fail("out of memory");
    int status = live_open(l, cli, settings, options);
    if (status == EXIT_FINE && canvas_resize(&l->canvas, options->width, options->height) < 0)
        status = cli_fail("out of memory");
    if (status == EXIT_FINE) {
        struct live_host *h = shown_host(l);
        wait_once(l, h);
        draw_frame(&h->top, &l->canvas);
        canvas_write(&l->canvas, &text);
        bool known = h->top.live || (h->top.fleet && h->top.fleet->known);
        const char *why_not = l->refused.code ? l->refused.text : h->top.trouble[0] ? h->top.trouble : "no sample came in time";
        status = known && !l->refused.code ? show_text(&text) : cli_fail("%s", why_not);
    }
    live_close(l);
    free(l);
    return status;
}
