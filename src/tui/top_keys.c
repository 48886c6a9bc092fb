/* SPDX-License-Identifier: Apache-2.0
 * What keys and the mouse do to the state.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "format/json/json.h"
#include "format/table/page.h"
#include "tui/theme.h"
#include "tui/top.h"
#include "tui/top_keys.h"

enum { DETAILS_MS = 5000 };

const struct top_signal top_signals[] = {
    {SIGTERM, "TERM", "ask it to end"},
    {SIGINT, "INT", "like Ctrl-C"},
    {SIGHUP, "HUP", "many programs read their settings again, others end"},
    {SIGKILL, "KILL", "end it at once; unsaved work is lost"},
};
const size_t top_signal_count = ARRAY_LEN(top_signals);

struct top_wish *top_want(struct top *t, enum wish_kind kind)
{
    if (t->wish_count == TOP_WISHES) /* nobody grants them: the oldest has waited too long */
        memmove(t->wishes, t->wishes + 1, --t->wish_count * sizeof *t->wishes);
    struct top_wish *w = &t->wishes[t->wish_count++];
    *w = (struct top_wish){.kind = kind, .window_ms = t->settings.window_ms, .width = t->width - 2};
    return w;
}

/* ---- time ---- */

static void go_live(struct top *t)
{
    t->cursor_ms = t->far_until_ms = 0;
    t->waiting = false;
    t->row_count = 0;
    snapshot_unref(TAKE(t->past));
    why_free(TAKE(t->past_why));
    top_make_rows(t);
}

/* Plots move along when the cursor leaves them. */
static void move_plots(struct top *t)
{
    int64_t window = t->settings.window_ms, until = top_until_ms(t);
    if (t->cursor_ms > until - window && t->cursor_ms <= until)
        return;
    int64_t wanted = t->cursor_ms + window / 2;
    if (wanted >= t->now.ms) {
        t->far_until_ms = 0;
        return;
    }
    if (!t->daemon)
        return;
    t->far_until_ms = wanted;
    top_want(t, WISH_SERIES)->number = wanted;
}

/* Without a daemon: what was seen since the start. */
static void look_back(struct top *t, int64_t at_ms)
{
    const struct snapshot *found = NULL;
    for (size_t i = 0; i < t->kept_count; i++)
        if (t->kept[i]->taken_at.ms <= at_ms)
            found = t->kept[i];
    if (!found && t->kept_count)
        found = t->kept[0];
    if (!found) {
        go_live(t);
        top_note(t, true, "No past to show: it is kept by `whirr serve`.");
        return;
    }
    t->cursor_ms = found->taken_at.ms;
    top_moment(t, t->cursor_ms, snapshot_ref(found), why_explain(found, NULL),
               found->taken_at.ms > at_ms ? "That is all: `whirr serve` would keep more." : "");
}

static void go_to(struct top *t, int64_t at_ms)
{
    if (!t->live)
        return;
    if (at_ms >= t->now.ms) {
        go_live(t);
        return;
    }
    t->cursor_ms = at_ms;
    if (t->daemon) {
        t->waiting = true;
        top_want(t, WISH_AT)->number = at_ms;
    } else {
        look_back(t, at_ms);
    }
    if (t->cursor_ms)
        move_plots(t);
}

static void step(struct top *t, int64_t steps)
{
    int64_t by = MAX_OF(t->settings.window_ms / 60, t->interval_ms);
    go_to(t, (t->cursor_ms ? t->cursor_ms : t->now.ms) + steps * by);
}

/* The event before or behind the cursor. */
static void go_to_event(struct top *t, int by)
{
    int64_t from = t->cursor_ms ? t->cursor_ms : t->now.ms;
    const struct top_mark *found = NULL;
    for (size_t i = 0; i < t->mark_count; i++) {
        const struct top_mark *m = &t->marks[i];
        if (by < 0 ? m->at_ms < from && (!found || m->at_ms > found->at_ms)
                   : m->at_ms > from && (!found || m->at_ms < found->at_ms))
            found = m;
    }
    if (found)
        go_to(t, found->at_ms);
    else
        top_note(t, false, by < 0 ? "No earlier event in this window." : "No later event in this window.");
}

static void change_window(struct top *t, int by)
{
    size_t i = 0;
    while (i + 1 < top_window_count && top_windows_ms[i] < t->settings.window_ms)
        i++;
    if ((by < 0 && i == 0) || (by > 0 && i + 1 == top_window_count))
        return;
    t->settings.window_ms = top_windows_ms[i + (size_t)by];
    t->far_until_ms = 0;
    top_want(t, WISH_SAVE);
    top_want(t, WISH_SERIES)->number = 0;
    if (t->cursor_ms)
        move_plots(t);
}

/* ---- the table ---- */

static void move(struct top *t, int64_t by)
{
    if (t->tab == TAB_OVERVIEW) {
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

static void open_tab(struct top *t, enum top_tab tab)
{
    t->tab = tab;
    t->scroll = 0;
    if (tab >= TAB_ALERTS && tab < TAB_HOSTS)
        top_want(t, WISH_PANE)->number = tab;
}

static void sort_by(struct top *t, const char *key)
{
    if (strcmp(t->settings.sort, key) == 0)
        t->settings.reverse = !t->settings.reverse;
    else
        t->settings.reverse = false;
    str_copy(t->settings.sort, sizeof t->settings.sort, str_from(key));
    top_want(t, WISH_SAVE);
    top_make_rows(t);
}

static void sort_next(struct top *t, int by)
{
    int count = 0, at = 0;
    for (; process_sort_keys[count]; count++)
        if (strcmp(process_sort_keys[count], t->settings.sort) == 0)
            at = count;
    t->settings.reverse = false;
    sort_by(t, process_sort_keys[(at + by + count) % count]);
}

static void choose_gpu(struct top *t, int by)
{
    const struct snapshot *s = top_shown(t);
    int count = s ? (int)s->gpu_count : 0;
    /* ALL_GPUS stands between the last and the first. */
    int at = t->only == ALL_GPUS ? count : t->only;
    at = (at + by + count + 1) % (count + 1);
    t->only = at == count ? ALL_GPUS : at;
    top_make_rows(t);
}

static void tag(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (!row || !row->process)
        return;
    for (size_t i = 0; i < t->tag_count; i++)
        if (t->tags[i] == row->process->pid) {
            t->tags[i] = t->tags[--t->tag_count];
            return;
        }
    if (t->tag_count < TOP_TAGS)
        t->tags[t->tag_count++] = row->process->pid;
    move(t, 1);
}

static void follow(struct top *t)
{
    const struct top_row *row = top_selected(t);
    t->followed = !t->followed && row && row->process ? row->process->pid : 0;
    top_note(t, false, t->followed ? "Following this process." : "");
}

static void copy(struct top *t)
{
    char command[WHY_LINE_SIZE];
    if (!top_advice_command(t, command, sizeof command)) {
        top_note(t, false, "No command to copy.");
        return;
    }
    struct top_wish *w = top_want(t, WISH_COPY);
    str_copy(w->text, sizeof w->text, str_from(command));
    char note[TOP_NOTE_SIZE];
    snprintf(note, sizeof note, "Copied: %s", command);
    top_note(t, false, note);
}

/* ---- dialogs ---- */

static void open_signals(struct top *t);

static void ask_details(struct top *t, const struct process *p)
{
    struct top_wish *w = top_want(t, WISH_DETAILS);
    const struct top_row *row = top_selected(t);
    w->pid = p->pid;
    w->start_key = p->start_key;
    w->number = row ? row->gpu->index : 0;
    w->window_ms = p->started_at.ms;
    t->details_at_ms = t->now.ms;
}

static void open_details(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (!row || !row->process)
        return;
    t->mode = MODE_DETAILS;
    t->subject = row->process->pid;
    t->choice = 0;
    top_details_done(&t->details);
    ask_details(t, row->process);
}

void top_details_again(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (t->mode == MODE_DETAILS && row && row->process && t->now.ms - t->details_at_ms >= DETAILS_MS)
        ask_details(t, row->process);
}

static void key_details(struct top *t, int key)
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
        open_signals(t);
        return;
    default: t->mode = MODE_MAIN; return;
    }
    t->choice = (size_t)MAX_OF(MIN_OF((int64_t)t->choice + by, last), (int64_t)0);
}

static void open_signals(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (!t->allow_signals)
        top_note(t, false, "Read-only. Start with --allow-signals to signal processes.");
    else if (t->host)
        top_note(t, true, "Processes of another host can't be signaled from here.");
    else if (t->cursor_ms)
        top_note(t, true, "That was in the past: press n to go back to now.");
    else if (!t->tag_count && !(row && row->process))
        top_note(t, false, "No process is selected.");
    else {
        t->mode = MODE_SIGNAL;
        t->subject = t->tag_count ? 0 : row->process->pid;
        t->choice = 0;
        t->input[0] = '\0';
    }
}

static void send_signal(struct top *t)
{
    const struct top_row *selected = top_selected(t);
    for (size_t i = 0; i < t->row_count; i++) {
        const struct top_row *row = &t->rows[i];
        bool meant = row->process && (t->tag_count ? top_tagged(t, row->process->pid) : row == selected);
        bool again = false; /* one process may be on several GPUs */
        for (size_t w = 0; meant && w < t->wish_count; w++)
            again = again || (t->wishes[w].kind == WISH_SIGNAL && t->wishes[w].pid == row->process->pid);
        if (!meant || again)
            continue;
        struct top_wish *w = top_want(t, WISH_SIGNAL);
        w->pid = row->process->pid;
        w->start_key = row->process->start_key;
        w->number = top_signals[t->choice].number;
        str_copy(w->text, sizeof w->text, str_from(row->process->name));
    }
    t->tag_count = 0;
    t->mode = MODE_MAIN;
}

static void key_signal(struct top *t, int key)
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

static void ask_guard(struct top *t, const char *verb)
{
    if (t->worker >= t->worker_count)
        return;
    str_copy(t->worker_name, sizeof t->worker_name, str_from(t->workers[t->worker].name));
    t->mode = MODE_GUARD;
    str_copy(t->input, sizeof t->input, str_from(verb));
}

static void key_guard(struct top *t, int key)
{
    if (key == 'y') {
        struct top_wish *w = top_want(t, WISH_GUARD);
        snprintf(w->text, sizeof w->text, "%s %s", t->input, t->worker_name);
    }
    if (key == 'y' || key == 'n' || key == 'q' || key == TOP_KEY_ESCAPE)
        t->mode = MODE_MAIN;
}

static void key_columns(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE || key == 'q' || key == 'o' || key == TOP_KEY_ENTER) {
        t->mode = MODE_MAIN;
        top_want(t, WISH_SAVE);
    } else if ((key == TOP_KEY_UP || key == 'k') && t->choice) {
        t->choice--;
    } else if ((key == TOP_KEY_DOWN || key == 'j') && t->choice + 1 < COL_COUNT) {
        t->choice++;
    } else if (key == ' ') {
        t->settings.columns ^= 1U << t->choice;
    }
}

/* ---- typing ---- */

static bool edit(char text[TOP_INPUT_SIZE], int key)
{
    size_t len = strlen(text);
    if (key == TOP_KEY_BACKSPACE) {
        while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
            len--;
        text[len ? len - 1 : 0] = '\0';
        return true;
    }
    if (key < 0x20 || key >= 0x7f || len + 1 >= TOP_INPUT_SIZE)
        return false;
    text[len] = (char)key;
    text[len + 1] = '\0';
    return true;
}

static void key_filter(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE)
        t->filter[0] = '\0';
    if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
        t->mode = MODE_MAIN;
    else if (key == TOP_KEY_UP || key == TOP_KEY_DOWN)
        move(t, key == TOP_KEY_UP ? -1 : 1);
    else
        edit(t->filter, key);
    top_make_rows(t);
}

static void key_goto(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE) {
        t->mode = MODE_MAIN;
    } else if (key == TOP_KEY_ENTER) {
        struct wall at;
        t->mode = MODE_MAIN;
        if (moment_parse(str_trim(str_from(t->input)), t->now, MOMENT_LOCAL, &at))
            go_to(t, at.ms);
        else if (t->input[0])
            top_note(t, true, "Not a time. Try 03:10, -2h, or yesterday 22:00.");
    } else {
        edit(t->input, key);
    }
}

static void key_fit(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE) {
        t->mode = MODE_MAIN;
    } else if (key == TOP_KEY_ENTER) {
        t->mode = MODE_MAIN;
        struct top_wish *w = t->input[0] ? top_want(t, WISH_FIT) : NULL;
        if (w)
            str_copy(w->text, sizeof w->text, str_trim(str_from(t->input)));
    } else {
        edit(t->input, key);
    }
}

/* ---- all keys ---- */

static void next_group(struct top *t)
{
    t->settings.group = (t->settings.group + 1) % GROUPED_COUNT;
    char note[64];
    if (t->settings.group == GROUPED_NOT || t->settings.group == GROUPED_TREE)
        str_copy(note, sizeof note, t->settings.group ? STR("Tree: each below the process that started it.") : STR("Not grouped."));
    else
        snprintf(note, sizeof note, "Grouped by %s.", top_group_names[t->settings.group]);
    top_note(t, false, note);
    top_want(t, WISH_SAVE);
    top_make_rows(t);
}

static void next_theme(struct top *t)
{
    str_copy(t->settings.theme, sizeof t->settings.theme, str_from(theme_after(t->settings.theme)));
    char note[64];
    snprintf(note, sizeof note, "Theme: %s.", t->settings.theme);
    top_note(t, false, note);
    top_want(t, WISH_SAVE);
}

static void escape(struct top *t)
{
    if (t->tab != TAB_OVERVIEW)
        t->tab = TAB_OVERVIEW;
    else if (t->cursor_ms)
        go_live(t);
    else if (t->filter[0])
        t->filter[0] = '\0';
    else if (t->tag_count)
        t->tag_count = 0;
    else
        t->only = ALL_GPUS;
    top_make_rows(t);
}

static bool key_of_guard(struct top *t, int key)
{
    if (t->tab != TAB_GUARD || !strchr("eHRx", key) || key > 0x7f || !key)
        return false;
    ask_guard(t, key == 'e' ? "evict" : key == 'H' ? "hold" : key == 'x' ? "release" : "resume");
    return true;
}

static void pause_or_go_on(struct top *t)
{
    t->paused = !t->paused;
    top_note(t, false, "");
}

static void key_move(struct top *t, int key)
{
    int64_t page = (int64_t)MAX_OF(t->page, (size_t)1);
    switch (key) {
    case 'k':
    case TOP_KEY_UP: move(t, -1); break;
    case 'j':
    case TOP_KEY_DOWN: move(t, 1); break;
    case TOP_KEY_PAGE_UP: move(t, -page); break;
    case TOP_KEY_PAGE_DOWN: move(t, page); break;
    case TOP_KEY_HOME: move(t, -1000000); break;
    case 'G':
    case TOP_KEY_END: move(t, 1000000); break;
    case 'h':
    case TOP_KEY_LEFT: step(t, -1); break;
    case 'l':
    case TOP_KEY_RIGHT:
        if (t->cursor_ms)
            step(t, 1);
        break;
    case '(': go_to_event(t, -1); break;
    case ')': go_to_event(t, 1); break;
    case '{': step(t, -10); break;
    case '}':
        if (t->cursor_ms)
            step(t, 10);
        break;
    case '[': choose_gpu(t, -1); break;
    case ']': choose_gpu(t, 1); break;
    default: break;
    }
}

static void show_host(struct top *t, size_t which)
{
    if (which < t->host_count)
        top_want(t, WISH_HOST)->number = (int64_t)which;
}

static void next_host(struct top *t, int by)
{
    int64_t count = (int64_t)t->host_count;
    for (int64_t i = 0; i < count; i++)
        if (t->hosts[i] == t)
            show_host(t, (size_t)((i + by + count) % count));
}

static void key_main(struct top *t, int key)
{
    if (key_of_guard(t, key))
        return;
    int tabs = (int)top_tab_count(t);
    if (t->tab == TAB_HOSTS && key == TOP_KEY_ENTER) {
        show_host(t, t->host_choice);
        return;
    }
    if (key >= '1' && key < '1' + tabs)
        open_tab(t, (enum top_tab)(key - '1'));
    switch (key) {
    case 'q': top_want(t, WISH_END); break;
    case '?': t->mode = MODE_HELP; break;
    case TOP_KEY_TAB: open_tab(t, (enum top_tab)(((int)t->tab + 1) % tabs)); break;
    case TOP_KEY_BACK_TAB: open_tab(t, (enum top_tab)(((int)t->tab + tabs - 1) % tabs)); break;
    case TOP_KEY_ENTER: open_tab(t, t->tab == TAB_WHY ? TAB_OVERVIEW : TAB_WHY); break;
    case TOP_KEY_ESCAPE: escape(t); break;
    case 'n': go_live(t); break;
    case 'g':
        t->mode = MODE_GOTO;
        t->input[0] = '\0';
        break;
    case 'f':
        t->mode = MODE_FIT;
        t->input[0] = '\0';
        break;
    case '/': t->mode = MODE_FILTER; break;
    case 'p': pause_or_go_on(t); break;
    case 's': sort_next(t, 1); break;
    case 'S': sort_next(t, -1); break;
    case 'r': sort_by(t, t->settings.sort); break;
    case 't': next_group(t); break;
    case 'T': next_theme(t); break;
    case 'w': change_window(t, 1); break;
    case 'W': change_window(t, -1); break;
    case 'm':
        t->settings.metric = (t->settings.metric + 1) % TRAIL_COUNT;
        top_want(t, WISH_SAVE);
        break;
    case 'C':
        t->settings.compute_only = !t->settings.compute_only;
        top_want(t, WISH_SAVE);
        top_make_rows(t);
        break;
    case 'o':
        t->mode = MODE_COLUMNS;
        t->choice = 0;
        break;
    case 'd':
    case 'i': open_details(t); break;
    case '<': next_host(t, -1); break;
    case '>': next_host(t, 1); break;
    case 'F': follow(t); break;
    case ' ': tag(t); break;
    case 'c': copy(t); break;
    case 'x': open_signals(t); break;
    default: key_move(t, key); break;
    }
}

void top_key(struct top *t, int key)
{
    t->note[0] = '\0';
    switch (t->mode) {
    case MODE_MAIN: key_main(t, key); break;
    case MODE_FILTER: key_filter(t, key); break;
    case MODE_GOTO: key_goto(t, key); break;
    case MODE_FIT: key_fit(t, key); break;
    case MODE_COLUMNS: key_columns(t, key); break;
    case MODE_SIGNAL: key_signal(t, key); break;
    case MODE_GUARD: key_guard(t, key); break;
    case MODE_DETAILS: key_details(t, key); break;
    case MODE_ANSWER:
    case MODE_HELP: t->mode = MODE_MAIN; break;
    }
}

/* ---- mouse ---- */

static const struct zone *zone_at(const struct top *t, int x, int y)
{
    for (size_t i = t->zone_count; i-- > 0;) { /* what was drawn last lies on top */
        const struct zone *z = &t->zones[i];
        if (x >= z->x && x < z->x + z->width && y >= z->y && y < z->y + z->height)
            return z;
    }
    return NULL;
}

/* To the moment of that column; the last one is now. */
static void scrub(struct top *t, const struct zone *z, int x)
{
    int64_t window = t->settings.window_ms;
    x = MIN_OF(MAX_OF(x, z->x), z->x + z->width - 1);
    go_to(t,
          x == z->x + z->width - 1 && !t->far_until_ms ? t->now.ms : top_until_ms(t) - window + window * (x - z->x + 1) / z->width);
}

static void click(struct top *t, const struct zone *z, int x)
{

    switch (z->kind) {
    case ZONE_TAB: open_tab(t, (enum top_tab)z->number); break;
    case ZONE_GPU:
        t->only = t->only == (int)z->number ? ALL_GPUS : (int)z->number;
        top_make_rows(t);
        break;
    case ZONE_SORT: sort_by(t, top_columns[z->number].sort); break;
    case ZONE_ROW:
        if (t->selected == (size_t)z->number)
            open_details(t);
        t->selected = (size_t)z->number;
        break;
    case ZONE_TIME:
        t->scrubbed = *z;
        scrub(t, z, x);
        break;
    case ZONE_HEADLINE: open_tab(t, TAB_WHY); break;
    case ZONE_HOST:
        if (t->host_choice == (size_t)z->number)
            show_host(t, t->host_choice);
        t->host_choice = (size_t)z->number;
        break;
    case ZONE_WORKER: t->worker = (size_t)z->number; break;
    case ZONE_KEY: top_key(t, (int)z->number); break;
    }
}

void top_mouse(struct top *t, enum top_mouse what, int x, int y)
{
    if (what == TOP_DRAG) { /* whatever row the pointer has strayed to */
        if (t->scrubbed.width && t->mode == MODE_MAIN)
            scrub(t, &t->scrubbed, x);
        return;
    }
    t->note[0] = '\0';
    t->scrubbed.width = 0;
    if (t->mode == MODE_DETAILS && what != TOP_CLICK) {
        key_details(t, what == TOP_WHEEL_UP ? TOP_KEY_UP : TOP_KEY_DOWN);
        return;
    }
    if (t->mode == MODE_HELP || t->mode == MODE_DETAILS || t->mode == MODE_ANSWER) {
        t->mode = MODE_MAIN;
        return;
    }
    if (t->mode != MODE_MAIN && t->mode != MODE_FILTER)
        return;
    const struct zone *z = zone_at(t, x, y);
    if (what == TOP_CLICK && z)
        click(t, z, x);
    else if (what != TOP_CLICK && z && z->kind == ZONE_TIME) /* over a plot the wheel turns time */
        key_move(t, what == TOP_WHEEL_UP ? TOP_KEY_LEFT : TOP_KEY_RIGHT);
    else if (what != TOP_CLICK)
        move(t, what == TOP_WHEEL_UP ? -3 : 3);
}
