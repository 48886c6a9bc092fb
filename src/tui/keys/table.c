/* SPDX-License-Identifier: Apache-2.0
 * Keys of the process table: selection, order, groups, tags, filter, and the selected GPU.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/table/page_table.h"
#include "tui/keys/internal.h"

void top_move(struct top *t, int64_t by)
{
    if (t->tab == TAB_OVERVIEW || t->fleet) {
        int64_t last = t->row_count ? (int64_t)t->row_count - 1 : 0;
        t->selected = (size_t)MIN_OF(MAX_OF((int64_t)t->selected + by, (int64_t)0), last);
        t->followed = 0;
    } else if (t->tab == TAB_HOSTS) {
        t->host_choice = (size_t)MIN_OF(MAX_OF((int64_t)t->host_choice + by, (int64_t)0), (int64_t)t->host_count - 1);
    } else if (t->tab == TAB_GUARD && t->worker_count) {
        int64_t last = (int64_t)t->worker_count - 1;
        t->worker = (size_t)MIN_OF(MAX_OF((int64_t)t->worker + by, (int64_t)0), last);
    } else {
        int64_t last = MAX_OF((int64_t)t->pane_lines - 1, (int64_t)0);
        t->scroll = (size_t)MIN_OF(MAX_OF((int64_t)t->scroll + by, (int64_t)0), last);
    }
}

void top_sort_by(struct top *t, const char *key)
{
    if (strcmp(t->settings.sort, key) == 0)
        t->settings.reverse = !t->settings.reverse;
    else
        t->settings.reverse = false;
    str_copy(t->settings.sort, sizeof t->settings.sort, str_from(key));
    top_want(t, REQUEST_LOOK);
    top_make_rows(t);
}

void top_sort_next(struct top *t, int by)
{
    int count = 0, at = 0;
    for (; process_sort_keys[count]; count++)
        if (strcmp(process_sort_keys[count], t->settings.sort) == 0)
            at = count;
    t->settings.reverse = false;
    top_sort_by(t, process_sort_keys[(at + by + count) % count]);
}

void top_choose_gpu(struct top *t, int by)
{
    const struct snapshot *s = top_shown(t);
    int count = s ? (int)s->gpu_count : 0;
    /* ALL_GPUS comes between the last and the first. */
    int at = t->only == ALL_GPUS ? count : t->only;
    at = (at + by + count + 1) % (count + 1);
    t->only = at == count ? ALL_GPUS : at;
    top_make_rows(t);
}

void top_tag(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (!row || !row->process) {
        top_note(t, false, "No process is selected.");
        return;
    }
    for (size_t i = 0; i < t->tag_count; i++)
        if (t->tags[i] == row->process->pid) {
            t->tags[i] = t->tags[--t->tag_count];
            return;
        }
    if (t->tag_count < TOP_TAGS)
        t->tags[t->tag_count++] = row->process->pid;
    top_move(t, 1);
}

void top_follow(struct top *t)
{
    const struct top_row *row = top_selected(t);
    t->followed = !t->followed && row && row->process ? row->process->pid : 0;
    top_note(t, false,
             t->followed           ? "Following this process; F again stops."
             : row && row->process ? "No longer following."
                                   : "No process is selected.");
}

void top_next_group(struct top *t)
{
    t->settings.group = (t->settings.group + 1) % GROUPED_COUNT;
    char note[64];
    if (t->settings.group == GROUPED_NOT || t->settings.group == GROUPED_TREE)
        str_copy(note, sizeof note, t->settings.group ? STR("Tree: each below the process that started it.") : STR("Not grouped."));
    else
        snprintf(note, sizeof note, "Grouped by %s.", top_group_names[t->settings.group]);
    top_note(t, false, note);
    top_want(t, REQUEST_LOOK);
    top_make_rows(t);
}

void top_key_filter(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE)
        t->filter[0] = '\0';
    if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
        t->mode = MODE_MAIN;
    else if (key == TOP_KEY_UP || key == TOP_KEY_DOWN)
        top_move(t, key == TOP_KEY_UP ? -1 : 1);
    else if (top_edit(t->filter, key) && t->fleet)
        t->selected = 0;
    top_make_rows(t);
}
