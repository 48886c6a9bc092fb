/* SPDX-License-Identifier: Apache-2.0
 * whirr report --remedies: how often remedies did what was expected of them.
 */

#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/remedy/remedy_cli.h"

/* Of the daemon, which knows what it measured and learned; without one, what this user's commands measured. */
static void find_effects(struct cli *cli, struct effects *all)
{
    struct error err = {0};
    AUTO_JSON json_t *answer = alert_ask(cli, "GET", "/api/remedies", NULL, &err);
    const json_t *list = json_object_get(answer, "effects");
    effects_read(all);
    for (size_t i = json_array_size(list); i-- > 0;) { /* newest first */
        struct effect e = {.code = REMEDY_FAULT};
        if (answer_read(&effect_answer, json_array_get(list, i), &e, NULL) && e.gpu[0])
            (void)effects_put(all, &e);
    }
}

static void show_hits(struct buf *out, const struct effect_hits *h)
{
    int64_t expected, measured;
    buf_printf(out, "  %-16s %3zu measured", remedy_row(h->code)->code, h->measured);
    if (h->expected)
        buf_printf(out, "   %zu of %zu as expected", h->hit, h->expected);
    if (reading_get(h->expected_mw, &expected) && reading_get(h->measured_mw, &measured))
        buf_printf(out, "   last: %+lld W, expected %+lld W", words_whole(measured, 1000), words_whole(expected, 1000));
    buf_char(out, '\n');
}

struct told_hits {
    const struct effect_hits *list;
    size_t count;
};

ANSWER_TABLE(report_answer, struct told_hits)
{
    OBJECTS("hits", list, count, effect_hits_answer, NULL);
}

int report_remedies(struct cli *cli)
{
    AUTO_EFFECTS struct effects all = {0};
    struct effect_hits hits[REMEDY_COUNT];
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    size_t hit = 0, expected = 0;
    find_effects(cli, &all);
    size_t count = effects_hits(&all, hits, ARRAY_LEN(hits));
    for (size_t i = 0; i < count; i++) {
        hit += hits[i].hit;
        expected += hits[i].expected;
    }
    if (cli->json)
        return show_answer(cli, &report_answer, &(struct told_hits){hits, count});
    if (!count)
        buf_text(&out, "No remedy was measured yet. To measure one: whirr do 1, or whirr try 1, after whirr why.\n");
    else if (expected)
        buf_printf(&out, "Remedies had the expected effect, within a fifth, in %zu of %zu cases.\n", hit, expected);
    else
        buf_text(&out, "No remedy had an expectation yet: each was measured for the first time.\n");
    for (size_t i = 0; i < count; i++)
        show_hits(&out, &hits[i]);
    return show_text(&out);
}
