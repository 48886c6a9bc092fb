/* SPDX-License-Identifier: Apache-2.0
 * The lines on which a process spends its time, for two seconds after its details were opened. A thread of its own looks, because
 * samples must not wait for it.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "tui/feed/internal.h"

static void write_places(struct buf *out, const struct program_lines *l)
{
    char words[PLACE_WORDS];
    if (l->blame == BLAME_GPU)
        buf_text(out, "Where\tno line of its own: it waits for the GPU\n");
    if (l->few_cores)
        buf_text(out, "Cores\tthere are too few: the threads below waited longer for a CPU than they ran\n");
    for (size_t i = 0; i < l->count; i++)
        buf_printf(out, "%s\t%s\n", i == 0 ? "Where" : " ", place_words(&l->places[i], i == 0, words));
    buf_printf(out, " \t%s\n", lines_evidence(l, words));
}

static void write_functions(struct buf *out, const struct env *env, int32_t pid)
{
    struct address_samples found;
    char words[ADDRESS_WORDS];
    address_samples_take(env, pid, MS_PER_S, true, &found);
    buf_printf(out, "Where\t%s\n", address_samples_words(&found, words));
}

static void *look(void *user)
{
    struct feed *f = user;
    struct feed_where *w = &f->where;
    struct looks looks;
    struct program_lines lines;
    struct error err = {0};
    AUTO_BUF struct buf out = BUF(64 * 1024);
    const struct lines_request request = {.pid = w->pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S, .cancel = &w->over};
    int rc = lines_take(&f->cli->env, &request, &looks, &err);
    if (rc == 0) {
        looks_judge(&looks, &lines);
        write_places(&out, &lines);
        looks_done(&looks);
    } else if (rc == -ENOEXEC) {
        write_functions(&out, &f->cli->env, w->pid);
    } else {
        buf_printf(&out, "Where\tnot known: %s\n", err.text);
    }
    struct news *n = w->over ? NULL : news_new(NEWS_WHERE);
    if (n) {
        n->pid = w->pid;
        n->text = buf_take(&out);
        mailbox_put(f->news, n);
    }
    return NULL;
}

void feed_where_begin(struct feed *f, int32_t pid)
{
    feed_where_end(f);
    f->where.pid = pid;
    f->where.over = false;
    f->where.running = pthread_create(&f->where.thread, NULL, look, f) == 0;
}

void feed_where_end(struct feed *f)
{
    if (!f->where.running)
        return;
    f->where.over = true;
    pthread_join(f->where.thread, NULL);
    f->where.running = false;
}
