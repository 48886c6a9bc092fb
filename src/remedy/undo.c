/* SPDX-License-Identifier: Apache-2.0 */
#include "remedy/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/lease_settings.h"

static const char *undo_door_name(enum undo_door door)
{
    static const char *const names[UNDO_DOORS] = {"setting",  "reservation", "silence", "guard",
                                                  "notifier", "token",       "setup",   "forgotten"};
    return names[door];
}
ANSWER_NAMES(undo_doors, enum undo_door, undo_door_name, 0, UNDO_DOORS - 1);

static const char *undo_state_name(enum undo_state state)
{
    static const char *const names[UNDO_STATES] = {NULL, "undone", "under_way", "refused", "dry_run"};
    return names[state];
}
ANSWER_NAMES(undo_states, enum undo_state, undo_state_name, UNDO_DONE, UNDO_STATES - 1);

ANSWER_TABLE(undo_answer, struct undo_entry, .name = "Undo")
{
    FIELD(TEXT, "id", id, "For `whirr undo ID` and POST /api/undo");
    FIELD(NAME, "door", door, "How it was changed", NAMES(undo_doors), OPEN);
    FIELD(TEXT, "what", what, NULL, FOREIGN);
    FIELD(TEXT, "before", before, "What it will be again", OR_NULL, FOREIGN);
    FIELD(TEXT, "now", now, NULL, OR_NULL, FOREIGN);
    FIELD(TEXT, "by", by, "Who changed it, or why", OR_NULL, FOREIGN);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(MOMENT, "until", until, "null: until it is undone", OR_NULL);
    FIELD(TEXT, "how", how, "The command for this alone");
    FIELD(NAME, "state", state, "After POST /api/undo: what became of it", NAMES(undo_states), OR_NULL);
    FIELD(TEXT, "why_not", why_not, "Why it was refused", OR_NULL);
}

SHARED_ANSWER_TABLE(undo_list_answer, struct undo_list, .name = "Changes")
{
    OBJECTS("changes", at, count, undo_answer, "Newest first");
}

struct undo_entry *undo_add(struct undo_list *l, enum undo_door door, const char *id)
{
    if (l->count == UNDO_MAX)
        return NULL;
    struct undo_entry *e = &l->at[l->count++];
    *e = (struct undo_entry){.door = door};
    str_copy_clean(e->id, sizeof e->id, str_from(id));
    return e;
}

void undo_add_lease(struct undo_list *list, const struct lease *l)
{
    char gpus[LEASE_WORDS];
    bool setting = l->kind == LEASE_SETTING;
    if (l->state == LEASE_ENDED || (!setting && l->kind != LEASE_RESERVE))
        return;
    struct undo_entry *e = undo_add(list, setting ? UNDO_SETTING : UNDO_RESERVATION, l->id);
    if (!e)
        return;
    e->since = l->made;
    e->until = l->until;
    e->simulated = l->simulated;
    snprintf(e->how, sizeof e->how, "whirr lease end %s", l->id);
    snprintf(e->by, sizeof e->by, "%s", l->user);
    snprintf(e->what, sizeof e->what, "%s%s", l->simulated ? "simulated " : "", lease_gpu_words(l, gpus));
    if (!setting)
        snprintf(e->now, sizeof e->now, "reserved");
    for (size_t i = 0; setting && i < l->setting_count; i++) {
        enum control_kind kind;
        struct control_value asked, before;
        char text[CONTROL_TEXT_SIZE];
        if (!lease_set_values(&l->settings[i], &kind, &asked, &before))
            continue;
        size_t now = strlen(e->now), was = strlen(e->before);
        snprintf(e->now + now, sizeof e->now - now, "%s%s %s", now ? ", " : "", control_words(kind),
                 control_text(kind, NULL, asked, text));
        snprintf(e->before + was, sizeof e->before - was, "%s%s", was ? ", " : "", control_text(kind, NULL, before, text));
    }
}

static int newer_first(const void *a, const void *b)
{
    const struct undo_entry *x = a, *y = b;
    return (x->since.ms < y->since.ms) - (x->since.ms > y->since.ms);
}

void undo_sort(struct undo_list *l)
{
    qsort(l->at, l->count, sizeof l->at[0], newer_first);
}
