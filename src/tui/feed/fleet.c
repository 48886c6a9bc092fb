/* SPDX-License-Identifier: Apache-2.0
 * The fleet's live view on a terminal: a thread asks the database, the loop waits for keys and answers.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/cli.h"
#include "base/cleanup.h"
#include "base/mailbox.h"
#include "tui/fleet_rows.h"
#include "tui/screen.h"

enum { ANSWER_WITHIN_MS = 30000, END_TRIES = 20, END_PAUSE_MS = 10, TICK_MS = 1000 };

struct answer {
    struct fleet fleet;
    struct wall at;
    struct error err;
};

/* Outlives the view where the database hangs: the thread has its own copies, and is left behind. */
struct fleet_fetcher {
    struct env env;
    char *url;
    int64_t interval_ms;
    struct mailbox *ends, *answers;
    pthread_t thread;
    _Atomic bool ended;
};

static void drop_answer(void *item)
{
    struct answer *a = item;
    fleet_done(&a->fleet);
    free(a);
}

static void *ask_again_and_again(void *user)
{
    struct fleet_fetcher *fetcher = user;
    const struct fleet_place place = {.env = &fetcher->env, .url = fetcher->url, .timeout_ms = ANSWER_WITHIN_MS};
    while (!mailbox_closed(fetcher->ends)) {
        struct answer *a = calloc(1, sizeof *a);
        if (a) {
            if (fleet_fetch(&place, FLEET_WANT_ALL, &a->fleet, &a->err) < 0 && !a->err.code)
                error_set(&a->err, -EIO, "the fleet's database did not answer");
            a->at = clock_wall(fetcher->env.clock);
            mailbox_put(fetcher->answers, a);
        }
        (void)mailbox_take(fetcher->ends, fetcher->interval_ms); /* until it is time, or the end */
    }
    atomic_store(&fetcher->ended, true);
    return NULL;
}

static void fetcher_free(struct fleet_fetcher *fetcher)
{
    if (fetcher->ends)
        mailbox_free(fetcher->ends);
    if (fetcher->answers)
        mailbox_free(fetcher->answers);
    free(fetcher->url);
    free(fetcher);
}

static struct fleet_fetcher *fetcher_start(const struct cli *cli, const struct fleet_top_options *options)
{
    struct fleet_fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher)
        return NULL;
    fetcher->env = cli->env;
    fetcher->url = strdup(options->url);
    fetcher->interval_ms = options->interval_ms;
    fetcher->ends = mailbox_new(1, NULL);
    fetcher->answers = mailbox_new(2, drop_answer);
    if (fetcher->url && fetcher->ends && fetcher->answers &&
        pthread_create(&fetcher->thread, NULL, ask_again_and_again, fetcher) == 0)
        return fetcher;
    fetcher_free(fetcher);
    return NULL;
}

static void fetcher_stop(struct fleet_fetcher *fetcher)
{
    mailbox_close(fetcher->ends);
    for (int i = 0; i < END_TRIES && !atomic_load(&fetcher->ended); i++)
        pause_ms(END_PAUSE_MS);
    if (!atomic_load(&fetcher->ended)) {
        pthread_detach(fetcher->thread);
        return;
    }
    pthread_join(fetcher->thread, NULL);
    fetcher_free(fetcher);
}

static bool take_answers(struct fleet_top *t, struct fleet_fetcher *fetcher, int64_t wait_ms)
{
    struct answer *a = mailbox_take(fetcher->answers, wait_ms);
    if (!a)
        return false;
    if (a->err.code)
        fleet_top_trouble(t, a->err.text);
    else
        fleet_top_take(t, &a->fleet, a->at);
    drop_answer(a);
    return true;
}

static void resize(struct fleet_top *t, struct canvas *c)
{
    int width, height;
    screen_size(&width, &height);
    if (canvas_resize(c, width, height) < 0)
        t->ended = true;
}

static bool take_input(struct fleet_top *t, struct canvas *c)
{
    enum { CTRL_L = 12 };
    bool any = false;
    for (struct screen_event e; !t->ended && (e = screen_next()).kind != SCREEN_NOTHING; any = true) {
        switch (e.kind) {
        case SCREEN_KEY:
            if (e.key == CTRL_L)
                screen_redraw();
            else if (e.key)
                fleet_top_key(t, e.key);
            break;
        case SCREEN_CLICK: fleet_top_mouse(t, TOP_CLICK, e.x, e.y); break;
        case SCREEN_WHEEL_UP: fleet_top_mouse(t, TOP_WHEEL_UP, e.x, e.y); break;
        case SCREEN_WHEEL_DOWN: fleet_top_mouse(t, TOP_WHEEL_DOWN, e.x, e.y); break;
        case SCREEN_RESIZE: resize(t, c); break;
        case SCREEN_DRAG:
        case SCREEN_NOTHING: break;
        }
        if (t->copy[0])
            screen_copy(t->copy);
        t->copy[0] = '\0';
    }
    return any;
}

static void loop(struct fleet_top *t, struct canvas *c, struct fleet_fetcher *fetcher)
{
    bool changed = true;
    resize(t, c);
    while (!t->ended && !screen_signal()) {
        if (changed) {
            fleet_top_draw(t, c);
            screen_show(c);
        }
        struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {mailbox_fd(fetcher->answers), POLLIN, 0}};
        (void)poll(fds, ARRAY_LEN(fds), TICK_MS);
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            break;
        if (screen_wants_stop())
            screen_stop();
        changed = take_answers(t, fetcher, 0);
        changed = take_input(t, c) || changed;
    }
}

static int once(struct fleet_top *t, struct canvas *c, struct fleet_fetcher *fetcher, const struct fleet_top_options *options)
{
    AUTO_BUF struct buf text = BUF(4 << 20);
    if (canvas_resize(c, options->width, options->height) < 0)
        return cli_fail("out of memory");
    if (!take_answers(t, fetcher, ANSWER_WITHIN_MS + MS_PER_S) || !t->known)
        return cli_fail("%s", t->trouble[0] ? t->trouble : "the fleet's database did not answer");
    fleet_top_draw(t, c);
    canvas_write(c, &text);
    return show_text(&text);
}

int fleet_top_run(const struct cli *cli, const struct fleet_top_options *options)
{
    struct fleet_top t = {.utf8 = cli->page.utf8};
    struct canvas c = {0};
    struct error err = {0};
    int status = EXIT_FINE;
    if (!options->once && screen_load(&err) < 0)
        return cli_fail("`whirr top` %s; `whirr top --fleet URL --once` does without", err.text);
    struct fleet_fetcher *fetcher = fetcher_start(cli, options);
    if (!fetcher)
        return cli_fail("out of memory");
    if (options->once) {
        status = once(&t, &c, fetcher, options);
    } else if (screen_open(cli->page.utf8, cli->page.color, options->direct_color, options->theme, options->mouse) < 0) {
        status = cli_fail("cannot draw on this terminal; `whirr top --fleet URL --once` prints one frame");
    } else {
        loop(&t, &c, fetcher);
        screen_close();
    }
    fetcher_stop(fetcher);
    fleet_top_done(&t);
    canvas_done(&c);
    return status;
}
