/* SPDX-License-Identifier: Apache-2.0
 * The loop: waits for keys and news, grants wishes, draws.
 */
#include "tui/live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/options.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "format/json/json.h"
#include "guard/target.h"
#include "tui/draw.h"
#include "tui/feed.h"
#include "tui/prefs.h"
#include "tui/screen.h"
#include "tui/top_keys.h"

enum { TICK_MS = 1000, ONCE_WITHIN_MS = 10000, ONCE_SAMPLES = 2 };

struct live {
    struct cli *cli;
    const struct live_options *options;
    struct top top;
    struct canvas canvas;
    struct feed *feed;
    bool ended, chosen;
    char theme[16];
};

static int live_open(struct live *l, struct cli *cli, const struct top_settings *settings, const struct live_options *options)
{
    struct error err = {0};
    *l = (struct live){.cli = cli, .options = options};
    top_init(&l->top, settings);
    l->top.utf8 = cli->page.utf8;
    l->top.allow_signals = options->allow_signals;
    l->top.interval_ms = options->interval_ms;
    l->top.price_per_kwh = cli->settings ? cli->settings->energy.price_per_kwh : 0;
    l->top.currency = cli->settings ? cli->settings->energy.currency : "";
    l->feed = feed_start(cli, options->interval_ms, options->record, &err);
    if (l->feed)
        return EXIT_FINE;
    return err.code == -EINVAL ? cli_usage(cli, "%s", err.text) : cli_fail("%s", err.text);
}

static void live_close(struct live *l)
{
    if (l->feed)
        feed_stop(l->feed);
    top_done(&l->top);
    canvas_done(&l->canvas);
}

/* ---- wishes ---- */

static void signal_process(struct live *l, const struct top_wish *w)
{
    struct error err = {0};
    char text[TOP_NOTE_SIZE];
    struct claim_identity who = {.pid = w->pid, .start_key = w->start_key};
    if (target_signal(&l->cli->env, who, (int)w->number, &err) < 0) {
        top_note(&l->top, true, err.text);
        return;
    }
    snprintf(text, sizeof text, "Signaled %s (PID %d).", w->text, w->pid);
    top_note(&l->top, false, text);
}

static void save(struct live *l)
{
    struct error err = {0};
    if (prefs_save(l->options->prefs, &l->top.settings, &err) < 0)
        top_note(&l->top, true, err.text);
    if (strcmp(l->theme, l->top.settings.theme) != 0) {
        str_copy(l->theme, sizeof l->theme, str_from(l->top.settings.theme));
        screen_theme(l->theme);
    }
}

static void grant_wishes(struct live *l)
{
    struct top_wish w;
    while ((w = top_next_wish(&l->top)).kind != WISH_NOTHING) {
        switch (w.kind) {
        case WISH_END: l->ended = true; break;
        case WISH_STOP: screen_stop(); break;
        case WISH_COPY: screen_copy(w.text); break;
        case WISH_SAVE: save(l); break;
        case WISH_SIGNAL: signal_process(l, &w); break;
        default: feed_ask(l->feed, &w); break;
        }
    }
}

/* --gpu: the one that is chosen from the start. */
static void choose_gpu(struct live *l)
{
    const char *which = options_value(&l->cli->options, "gpu", NULL);
    if (l->chosen || !l->top.live)
        return;
    l->chosen = true;
    if (!which)
        return;
    l->top.only = snapshot_find_gpu(l->top.live, which);
    if (l->top.only < 0) {
        char text[TOP_NOTE_SIZE];
        l->top.only = ALL_GPUS;
        snprintf(text, sizeof text, "No single GPU matches '%s'.", which);
        top_note(&l->top, true, text);
    }
    top_make_rows(&l->top);
}

static bool take_news(struct live *l)
{
    bool any = false;
    struct news *n;
    while ((n = mailbox_take(feed_news(l->feed), 0))) {
        news_take(n, &l->top);
        choose_gpu(l);
        any = true;
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
    top_resize(&l->top, l->canvas.width, l->canvas.height);
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
                top_key(&l->top, e.key);
            break;
        case SCREEN_CLICK: top_mouse(&l->top, TOP_CLICK, e.x, e.y); break;
        case SCREEN_WHEEL_UP: top_mouse(&l->top, TOP_WHEEL_UP, e.x, e.y); break;
        case SCREEN_WHEEL_DOWN: top_mouse(&l->top, TOP_WHEEL_DOWN, e.x, e.y); break;
        case SCREEN_RESIZE: resize(l); break;
        case SCREEN_NOTHING: break;
        }
        grant_wishes(l);
    }
    return any;
}

static void loop(struct live *l)
{
    bool changed = true;
    while (!l->ended && !screen_signal()) {
        if (changed) {
            draw_frame(&l->top, &l->canvas);
            screen_show(&l->canvas);
        }
        struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {mailbox_fd(feed_news(l->feed)), POLLIN, 0}};
        (void)poll(fds, ARRAY_LEN(fds), TICK_MS);
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal has gone */
            break;
        if (screen_wants_stop()) {
            screen_stop();
        }
        changed = take_news(l);
        changed = take_input(l) || changed;
        grant_wishes(l);
    }
}

int live_run(struct cli *cli, const struct top_settings *settings, const struct live_options *options)
{
    struct live *l = calloc(1, sizeof *l);
    if (!l)
        return cli_fail("out of memory");
    int status = live_open(l, cli, settings, options);
    if (status == EXIT_FINE &&
        screen_open(l->top.utf8, cli->page.color, options->direct_color, settings->theme, options->mouse) < 0)
        status = cli_fail("cannot draw on this terminal; `whirr top --once` prints one frame");
    else if (status == EXIT_FINE) {
        str_copy(l->theme, sizeof l->theme, str_from(settings->theme));
        resize(l);
        loop(l);
        screen_close();
    }
    live_close(l);
    free(l);
    return status;
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
        struct mono begun = clock_mono(&clock_system);
        int samples = 0;
        top_resize(&l->top, l->canvas.width, l->canvas.height);
        /* Rates take two samples; a daemon has them, and its past. */
        while (samples < ONCE_SAMPLES && mono_since_ms(clock_mono(&clock_system), begun) < ONCE_WITHIN_MS && !l->top.trouble[0]) {
            struct news *n = mailbox_take(feed_news(l->feed), TICK_MS);
            if (!n)
                continue;
            samples += n->kind == NEWS_SAMPLE || (n->kind == NEWS_SERIES && n->series_count);
            news_take(n, &l->top);
            choose_gpu(l);
            if (l->top.live && !l->top.live->gpu_count)
                break;
            grant_wishes(l);
        }
        draw_frame(&l->top, &l->canvas);
        canvas_write(&l->canvas, &text);
        status = l->top.live ? show_text(&text) : cli_fail("%s", l->top.trouble[0] ? l->top.trouble : "no sample came in time");
    }
    live_close(l);
    free(l);
    return status;
}
