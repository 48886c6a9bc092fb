/* SPDX-License-Identifier: Apache-2.0
 * Keys of the process table (selection, order, groups, tags, filter, the selected GPU), and about the selected or tagged processes:
 * details, signals, nice values.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/table/page_table.h"
#include "tui/keys/internal.h"

/* ---- the table ---- */

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

/* ---- the processes ---- */

enum { DETAILS_MS = 5000, NICE_CHANGE_MAX = 20 };

const struct top_signal top_signals[] = {
    {SIGTERM, "TERM", "ask it to end"},
    {SIGINT, "INT", "like Ctrl-C"},
    {SIGHUP, "HUP", "many programs read their settings again, others end"},
    {SIGKILL, "KILL", "end it at once; unsaved work is lost"},
};
const size_t top_signal_count = ARRAY_LEN(top_signals);

static void ask_details(struct top *t, const struct process *p, bool opened)
{
    struct top_request *w = top_want(t, REQUEST_DETAILS);
    const struct top_row *row = top_selected(t);
    w->pid = p->pid;
    w->opened = opened;
    w->start_key = p->start_key;
    w->number = row ? row->gpu->index : 0;
    w->window_ms = p->started_at.ms;
    t->details_at_ms = t->now.ms;
}

void top_open_details(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (!row || !row->process) {
        top_note(t, false, "No process is selected.");
        return;
    }
    t->mode = MODE_DETAILS;
    t->subject = row->process->pid;
    t->choice = 0;
    top_details_done(&t->details);
    free(t->where);
    t->where = NULL;
    ask_details(t, row->process, true);
}

void top_details_again(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (t->mode == MODE_DETAILS && row && row->process && t->now.ms - t->details_at_ms >= DETAILS_MS)
        ask_details(t, row->process, false);
}

void top_key_details(struct top *t, int key)
{
    int64_t page = (int64_t)MAX_OF(t->dialog_page, (size_t)1), last = (int64_t)t->dialog_lines - page, by = 0;
    switch (key) {
    case 'k':
    case TOP_KEY_UP: by = -1; break;
    case 'j':
    case TOP_KEY_DOWN: by = 1; break;
    case TOP_KEY_PAGE_UP: by = -page; break;
    case ' ':
    case TOP_KEY_PAGE_DOWN: by = page; break;
    case TOP_KEY_HOME: by = -last; break;
    case 'G':
    case TOP_KEY_END: by = last; break;
    case 'x':
        t->mode = MODE_MAIN;
        top_open_signals(t);
        return;
    default: t->mode = MODE_MAIN; return;
    }
    t->choice = (size_t)MAX_OF(MIN_OF((int64_t)t->choice + by, last), (int64_t)0);
}

/* Whether processes may be changed now; if not, notes why. */
static bool may_act(struct top *t)
{
    const struct top_row *row = top_selected(t);
    const char *reason = t->read_only                              ? "Read-only: top was started with --read-only."
                         : t->host                                 ? "Processes of another host can't be changed from here."
                         : t->cursor_ms                            ? "That was in the past: press n to go back to now."
                         : !t->tag_count && !(row && row->process) ? "No process is selected."
                                                                   : NULL;
    if (reason)
        top_note(t, t->host || t->cursor_ms, reason);
    return !reason;
}

void top_open_signals(struct top *t)
{
    if (!may_act(t))
        return;
    t->mode = t->allow_signals || t->settings.act ? MODE_SIGNAL : MODE_CONSENT;
    t->subject = t->tag_count ? 0 : top_selected(t)->process->pid;
    t->choice = 0;
    t->input[0] = '\0';
}

/* The dialog, with this signal chosen. */
void top_open_signal(struct top *t, int number)
{
    top_open_signals(t);
    for (size_t i = 0; i < top_signal_count; i++)
        if (top_signals[i].number == number)
            t->choice = i;
}

/* The first signal needs consent: a wrong key must not end a day's work. */
void top_key_consent(struct top *t, int key)
{
    t->mode = MODE_MAIN;
    if (key != 'y')
        return;
    t->settings.act = true; /* for this session; W keeps it */
    size_t choice = t->choice;
    top_open_signals(t);
    t->choice = choice;
}

void top_open_nice(struct top *t, int by)
{
    const struct top_row *row = top_selected(t);
    t->tag_count = 0;
    if (!may_act(t))
        return;
    t->mode = MODE_NICE;
    t->subject = row->process->pid;
    t->nice = by;
}

void top_key_nice(struct top *t, int key)
{
    const struct top_row *row = top_selected(t);
    if (key == TOP_KEY_RIGHT || key == TOP_KEY_UP || key == '+' || key == TOP_KEY_F1 + 7)
        t->nice = MIN_OF(t->nice + 1, (int)NICE_CHANGE_MAX);
    else if (key == TOP_KEY_LEFT || key == TOP_KEY_DOWN || key == '-' || key == TOP_KEY_F1 + 6)
        t->nice = MAX_OF(t->nice - 1, -(int)NICE_CHANGE_MAX);
    else
        t->mode = MODE_MAIN;
    if (key != 'y' || !row || !row->process)
        return;
    struct top_request *w = top_want(t, REQUEST_NICE);
    w->pid = row->process->pid;
    w->start_key = row->process->start_key;
    w->number = t->nice;
    str_copy(w->text, sizeof w->text, str_from(row->process->name));
}

static void send_signal(struct top *t)
{
    const struct top_row *selected = top_selected(t);
    for (size_t i = 0; i < t->row_count; i++) {
        const struct top_row *row = &t->rows[i];
        bool targeted = row->process && (t->tag_count ? top_tagged(t, row->process->pid) : row == selected);
        bool again = false; /* a process may be on several GPUs */
        for (size_t w = 0; targeted && w < t->request_count; w++)
            again = again || (t->requests[w].kind == REQUEST_SIGNAL && t->requests[w].pid == row->process->pid);
        if (!targeted || again)
            continue;
        struct top_request *w = top_want(t, REQUEST_SIGNAL);
        w->pid = row->process->pid;
        w->start_key = row->process->start_key;
        w->number = top_signals[t->choice].number;
        str_copy(w->text, sizeof w->text, str_from(row->process->name));
    }
    t->tag_count = 0;
    t->mode = MODE_MAIN;
}

void top_key_signal(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE || key == 'q' || key == 'n')
        t->mode = MODE_MAIN;
    else if ((key == TOP_KEY_UP || key == 'k') && t->choice)
        t->choice--;
    else if ((key == TOP_KEY_DOWN || key == 'j') && t->choice + 1 < top_signal_count)
        t->choice++;
    else if (key == 'y')
        send_signal(t);
}
