/* SPDX-License-Identifier: Apache-2.0
 * Finds where a size or a model would fit, from the daemon's figures or the last sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask_fit.h"
#include "ask/model_files.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "config/config.h"
#include "config/places.h"
#include "format/capacity.h"
#include "insight/area/part.h"
#include "tui/feed/internal.h"

/* The defaults of `whirr fit` for models. */
static const struct model_options fit_defaults = {.context = -1, .cache_type = "f16", .overhead_bytes = MODEL_OVERHEAD_DEFAULT};

struct capacity *feed_capacity(struct feed *f)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    int64_t reserve_bytes = f->cli->settings ? f->cli->settings->worker.reserve_bytes : 0;
    if (session_get(f->session, "/api/capacity", &answer) == 200)
        return capacity_from_json(buf_view(&answer));
    return f->last ? fit_capacity(f->cli, f->session, f->last, reserve_bytes) : NULL;
}

/* Reads a model's file or directory, as typed. */
static bool read_model(const char *typed, struct model_facts *facts, struct model_need *need, struct placement_request *request,
                       struct error *err)
{
    char path[WHY_LINE_SIZE + 256];
    place_typed(path, sizeof path, typed);
    if (!model_assume(str_from(typed), facts) && model_files_read(path, facts, err) < 0)
        return false;
    model_need(facts, &fit_defaults, need);
    *request = (struct placement_request){.count = 1,
                                          .only = -1,
                                          .bytes = need->bytes,
                                          .fixed_bytes = need->fixed_bytes,
                                          .layers = need->layers,
                                          .layer_count = need->layer_count};
    return true;
}

static void show_fit(struct feed *f, const struct top_request *w, struct buf *out, struct model_facts *facts,
                     struct model_need *need)
{
    AUTO_FREE struct capacity *c = feed_capacity(f);
    struct page page = {.width = MIN_OF(w->width - 2, 80), .utf8 = f->cli->page.utf8, .now = clock_wall(f->cli->env.clock)};
    struct placement_request request = {.count = 1, .only = -1, .whole = true};
    struct fit_subject subject = {.context_wanted = -1};
    struct error err = {0};
    double number;
    bool is_model =
        model_assume(str_from(w->text), facts) || (strpbrk(w->text, "/.~") && !bytes_parse(str_from(w->text), &request.bytes));
    if (is_model && !read_model(w->text, facts, need, &request, &err)) {
        page_wrap(out, &page, INK_PLAIN, err.text, 0, 0);
        return;
    }
    if (is_model)
        subject = (struct fit_subject){
            .path = w->text, .facts = facts, .need = need, .cache_type = fit_defaults.cache_type, .context_wanted = -1};
    /* A number without a unit, like "24", hardly means bytes. */
    else if (str_to_double(str_from(w->text), &number) || !bytes_parse(str_from(w->text), &request.bytes) || request.bytes <= 0) {
        buf_printf(out, "'%s' is not a size with its unit, like 24GiB, nor a model, like 70B\nor ~/models/m.gguf.\n", w->text);
        return;
    }
    AUTO_FREE struct placement *found = c ? placement_find(c, &request) : NULL;
    if (found && is_model)
        fit_doubt(need, found);
    if (found)
        table_placement(out, &page, c, &request, found, &subject);
    else
        buf_text(out, "Not known: the free memory could not be read.\n");
}

void feed_ask_fit(struct feed *f, const struct top_request *w)
{
    struct news *n = news_new(NEWS_ANSWER);
    AUTO_BUF struct buf out = BUF(65536);
    AUTO_FREE struct model_facts *facts = calloc(1, sizeof *facts);
    AUTO_FREE struct model_need *need = calloc(1, sizeof *need);
    if (n && facts && need) {
        show_fit(f, w, &out, facts, need);
        n->text = buf_take(&out);
        mailbox_put(f->news, TAKE(n));
    }
    news_free(n);
}
