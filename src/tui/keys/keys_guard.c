/* SPDX-License-Identifier: Apache-2.0
 * Keys of the guard: requests to its workers, and what would fit.
 */
#include <stdio.h>
#include <string.h>

#include "tui/keys/internal.h"

static void ask_guard(struct top *t, const char *verb)
{
    if (t->worker >= t->worker_count) {
        top_note(t, false, "No worker is under guard.");
        return;
    }
    str_copy(t->worker_name, sizeof t->worker_name, str_from(t->workers[t->worker].name));
    t->mode = MODE_GUARD;
    str_copy(t->input, sizeof t->input, str_from(verb));
}

bool top_key_of_guard(struct top *t, int key)
{
    if (t->tab != TAB_GUARD || !strchr("eHRx", key) || key > 0x7f || !key)
        return false;
    ask_guard(t, key == 'e' ? "evict" : key == 'H' ? "hold" : key == 'x' ? "release" : "resume");
    return true;
}

void top_key_guard(struct top *t, int key)
{
    if (key == 'y') {
        struct top_request *w = top_want(t, REQUEST_GUARD);
        snprintf(w->text, sizeof w->text, "%s %s", t->input, t->worker_name);
    }
    if (key == 'y' || key == 'n' || key == 'q' || key == TOP_KEY_ESCAPE)
        t->mode = MODE_MAIN;
}

void top_key_fit(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE) {
        t->mode = MODE_MAIN;
    } else if (key == TOP_KEY_ENTER) {
        t->mode = MODE_MAIN;
        struct top_request *w = t->input[0] ? top_want(t, REQUEST_FIT) : NULL;
        if (w)
            str_copy(w->text, sizeof w->text, str_trim(str_from(t->input)));
    } else {
        top_edit(t->input, key);
    }
}
