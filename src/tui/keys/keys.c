/* SPDX-License-Identifier: Apache-2.0
 * What each key does in the main view and for the guard, and the dispatch of keys to other modes.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/capacity_forms.h"
#include "insight/area/part.h"
#include "tui/keys/internal.h"
#include "tui/setup.h"
#include "tui/theme.h"

/* ---- the guard: requests to its workers, and what would fit ---- */

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

static bool top_key_of_guard(struct top *t, int key)
{
    if (t->tab != TAB_GUARD || !strchr("eHRx", key) || key > 0x7f || !key)
        return false;
    ask_guard(t, key == 'e' ? "evict" : key == 'H' ? "hold" : key == 'x' ? "release" : "resume");
    return true;
}

static void top_key_guard(struct top *t, int key)
{
    if (key == 'y') {
        struct top_request *w = top_want(t, REQUEST_GUARD);
        snprintf(w->text, sizeof w->text, "%s %s", t->input, t->worker_name);
    }
    if (key == 'y' || key == 'n' || key == 'q' || key == TOP_KEY_ESCAPE)
        t->mode = MODE_MAIN;
}

static void top_key_fit(struct top *t, int key)
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

/* ---- the main view ---- */

void top_open_tab(struct top *t, enum top_tab tab)
{
    if ((t->fleet || t->has_fleet) &&
        (tab == TAB_HOSTS) != (t->fleet != NULL)) { /* the tab belongs to the other of the two, this host or the fleet */
        top_want(t, REQUEST_VIEW)->number = tab;
        return;
    }
    t->tab = tab;
    t->scroll = 0;
    if (tab >= TAB_ALERTS && tab < TAB_HOSTS)
        top_want(t, REQUEST_PANE)->number = tab;
}

void top_copy(struct top *t, const char *command)
{
    struct top_request *w = top_want(t, REQUEST_COPY);
    str_copy(w->text, sizeof w->text, str_from(command));
    char note[TOP_NOTE_SIZE];
    snprintf(note, sizeof note, "Copied: %s", command);
    top_note(t, false, note);
}

static void copy_advice(struct top *t)
{
    char command[WHY_LINE_SIZE];
    if (top_advice_command(t, command, sizeof command))
        top_copy(t, command);
    else
        top_note(t, false, "No command to copy.");
}

bool top_edit(char text[TOP_INPUT_SIZE], int key)
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

static void next_theme(struct top *t)
{
    str_copy(t->settings.theme, sizeof t->settings.theme, str_from(theme_after(t->settings.theme)));
    char note[64];
    snprintf(note, sizeof note, "Theme: %s.", t->settings.theme);
    top_note(t, false, note);
}

static void escape(struct top *t)
{
    if (t->tab != TAB_OVERVIEW)
        t->tab = TAB_OVERVIEW;
    else if (t->cursor_ms)
        top_go_live(t);
    else if (t->filter[0])
        t->filter[0] = '\0';
    else if (t->tag_count)
        t->tag_count = 0;
    else
        t->only = ALL_GPUS;
    top_make_rows(t);
}

static void toggle_pause(struct top *t)
{
    t->paused = !t->paused;
    top_note(t, false, "");
}

/* A key without a meaning says so; 1 to 8 are tabs, of which some may be absent. */
static void note_no_effect(struct top *t, int key)
{
    char note[64];
    if (key <= ' ' || key >= 0x7f)
        return;
    snprintf(note, sizeof note, isdigit(key) ? "There is no view %c here." : "%c does nothing here; ? lists the keys.", key);
    if (!isdigit(key) || key - '1' >= (int)top_tab_count(t) || key == '0')
        top_note(t, false, note);
}

void top_key_move(struct top *t, int key)
{
    int64_t page = (int64_t)MAX_OF(t->page, (size_t)1);
    switch (key) {
    case 'k':
    case TOP_KEY_UP: top_move(t, -1); break;
    case 'j':
    case TOP_KEY_DOWN: top_move(t, 1); break;
    case TOP_KEY_PAGE_UP: top_move(t, -page); break;
    case TOP_KEY_PAGE_DOWN: top_move(t, page); break;
    case TOP_KEY_HOME: top_move(t, -1000000); break;
    case 'G':
    case TOP_KEY_END: top_move(t, 1000000); break;
    case 'h':
    case TOP_KEY_LEFT: top_step(t, -1); break;
    case 'l':
    case TOP_KEY_RIGHT: top_step(t, 1); break;
    case '(': top_go_to_event(t, -1); break;
    case ')': top_go_to_event(t, 1); break;
    case '{': top_step(t, -10); break;
    case '}': top_step(t, 10); break;
    case '[': top_choose_gpu(t, -1); break;
    case ']': top_choose_gpu(t, 1); break;
    default: note_no_effect(t, key); break;
    }
}

void top_show_host(struct top *t, size_t which)
{
    if (which < t->host_count)
        top_want(t, REQUEST_HOST)->number = (int64_t)which;
}

static void next_host(struct top *t, int by)
{
    int64_t count = (int64_t)t->host_count;
    if (!count)
        top_note(t, false, "This is one host; `whirr --host A --host B top` shows several.");
    for (int64_t i = 0; i < count; i++)
        if (t->hosts[i] == t)
            top_show_host(t, (size_t)((i + by + count) % count));
}

/* Copies a shell line that restricts a program to this GPU. */
static void copy_environment(struct top *t)
{
    const struct snapshot *s = top_shown(t);
    char text[GPU_UUID_SIZE + 64];
    if (s && s->gpu_count && gpu_environment(s, t->only != ALL_GPUS ? (size_t)t->only : 0, text, sizeof text))
        top_copy(t, text);
    else
        top_note(t, false, "No environment variable selects this GPU.");
}

/* Selects the GPU with the worst finding, and shows the reason. */
static void show_worst(struct top *t)
{
    const struct why_part *part;
    const struct snapshot *s = top_shown(t);
    t->only = ALL_GPUS;
    part = top_why_part(t);
    for (size_t i = 0; part && s && i < s->gpu_count; i++)
        if (s->gpus[i].index == part->gpu_index)
            t->only = (int)i;
    top_make_rows(t);
    top_open_tab(t, TAB_WHY);
}

/* Toggles a filter by the selected process's user. */
static void filter_user(struct top *t)
{
    const struct top_row *row = top_selected(t);
    bool on = t->filter[0];
    if (!on && !(row && row->process))
        top_note(t, false, "No process is selected.");
    str_copy(t->filter, sizeof t->filter, str_from(!on && row && row->process ? row->process->user : ""));
    top_make_rows(t);
}

/* Copies a command that lowers the power limit of the selected GPU, or of the one that the headline is about. */
static void copy_limit(struct top *t)
{
    const struct snapshot *s = top_shown(t);
    const struct top_row *row = top_selected(t);
    const struct gpu *gpu = !s || !s->gpu_count ? NULL : t->only != ALL_GPUS ? &s->gpus[t->only] : row ? row->gpu : &s->gpus[0];
    int64_t limit;
    char command[96];
    if (!gpu || !reading_get(gpu->power_limit_mw, &limit)) {
        top_note(t, false, "The power limit of this GPU is unknown.");
        return;
    }
    snprintf(command, sizeof command, "whirr set power %lldW --gpu %d --for 2h", (long long)(limit * 7 / 10 / 1000), gpu->index);
    top_copy(t, command);
}

/* Lists what can be done about the selected row. */
static void list_actions(struct top *t)
{
    const struct top_row *row = top_selected(t);
    const struct process *p = row ? row->process : NULL;
    AUTO_BUF struct buf out = BUF(4096);
    char words[PROCESS_WORDS];
    if (p)
        buf_printf(&out,
                   "%s\n  x F9      send a signal; I INT, T TERM, K KILL\n  F7 F8     change its nice value\n  e d Enter details, "
                   "environment\n  Space     tag it, for a signal to several\n\n",
                   process_words(p, LONG_NAME | WITH_PID, words));
    buf_text(
        &out,
        "The GPU\n  L         copy a command that lowers its power limit for 2 hours\n  y         copy the line that selects it\n"
        "  c         copy the command of the advice\n  7         the guard: evict, hold, resume");
    top_answer(t, "What can be done", out.failed ? NULL : strdup(out.at));
}

/* Says which: a screen without a map or short plots would show no difference. */
static void next_metric(struct top *t)
{
    char text[32], note[64];
    t->settings.metric = (top_metric(t) + 1) % TRAIL_CHOICES;
    snprintf(note, sizeof note, "Map and short plots: %s.", setup_value(&t->settings, LOOK_METRIC, text, sizeof text));
    top_note(t, false, note);
}

static void toggle_setting(struct top *t, bool *setting)
{
    *setting = !*setting;
    top_make_rows(t);
}

static void open_prompt(struct top *t, enum top_mode mode)
{
    t->mode = mode;
    t->input[0] = '\0';
}

static void open_selected(struct top *t)
{
    const struct top_row *row = top_selected(t);
    if (t->tab == TAB_OVERVIEW && row && row->process)
        top_open_details(t);
    else
        top_open_tab(t, t->tab == TAB_WHY ? TAB_OVERVIEW : TAB_WHY);
}

/* Maps the keys of htop and nvtop to ours. */
static int key_alias(int key)
{
    static const int functions[] = {'?', 'o', 0, '/', 't', 's', 0, 0, 'x', 'q'};
    if (key >= TOP_KEY_F1 && key <= TOP_KEY_F10 && functions[key - TOP_KEY_F1])
        return functions[key - TOP_KEY_F1];
    return key == '\\' ? '/' : key == ',' ? 'S' : key == '.' ? 's' : key == 'z' ? 'p' : key;
}

void top_key_main(struct top *t, int key)
{
    key = key_alias(key);
    if (top_key_of_fleet(t, key) || top_key_of_guard(t, key))
        return;
    int tabs = (int)top_tab_count(t);
    if (t->tab == TAB_HOSTS && key == TOP_KEY_ENTER) {
        top_show_host(t, t->host_choice);
        return;
    }
    if (key >= '1' && key < '1' + tabs)
        top_open_tab(t, (enum top_tab)(key - '1'));
    switch (key) {
    case 'q': top_want(t, REQUEST_END); break;
    case '?': t->mode = MODE_HELP; break;
    case TOP_KEY_TAB: top_open_tab(t, (enum top_tab)(((int)t->tab + 1) % tabs)); break;
    case TOP_KEY_BACK_TAB: top_open_tab(t, (enum top_tab)(((int)t->tab + tabs - 1) % tabs)); break;
    case TOP_KEY_ENTER: open_selected(t); break;
    case TOP_KEY_ESCAPE: escape(t); break;
    case 'n':
        if (!t->cursor_ms)
            top_note(t, false, "This is now.");
        top_go_live(t);
        break;
    case 'g': open_prompt(t, MODE_GOTO); break;
    case 'f': open_prompt(t, MODE_FIT); break;
    case '/': t->mode = MODE_FILTER; break;
    case 'p': toggle_pause(t); break;
    case 's': top_sort_next(t, 1); break;
    case 'S': top_sort_next(t, -1); break;
    case 'r': top_sort_by(t, t->settings.sort); break;
    case 't': top_next_group(t); break;
    case 'T':
        if (t->fleet || t->mode == MODE_SETUP)
            next_theme(t);
        else
            top_open_signal(t, SIGTERM);
        break;
    case 'I': top_open_signal(t, SIGINT); break;
    case 'K': top_open_signal(t, SIGKILL); break;
    case 'e': top_open_details(t); break;
    case 'a': list_actions(t); break;
    case 'L': copy_limit(t); break;
    case 'E':
    case 'H':
    case 'R': top_note(t, false, "That is for a worker under guard: 7 opens the guard's view."); break;
    case 'w': top_change_window(t, 1); break;
    case 'W': top_want(t, REQUEST_SAVE); break;
    case '-': top_change_window(t, -1); break;
    case 'm': next_metric(t); break;
    case 'C': toggle_setting(t, &t->settings.compute_only); break;
    case 'i': toggle_setting(t, &t->settings.hide_idle); break;
    case 'D': toggle_setting(t, &t->settings.blocks); break;
    case 'u': filter_user(t); break;
    case 'U':
        top_note(t, false, t->tag_count ? "No process is tagged anymore." : "No process is tagged; Space tags one.");
        t->tag_count = 0;
        break;
    case 'y': copy_environment(t); break;
    case '!': show_worst(t); break;
    case TOP_KEY_F1 + 6: top_open_nice(t, -1); break;
    case TOP_KEY_F1 + 7: top_open_nice(t, 1); break;
    case 'o': top_open_setup(t); break;
    case 'd': top_open_details(t); break;
    case '<': next_host(t, -1); break;
    case '>': next_host(t, 1); break;
    case 'F': top_follow(t); break;
    case ' ': top_tag(t); break;
    case 'c': copy_advice(t); break;
    case 'x': top_open_signals(t); break;
    default: top_key_move(t, key); break;
    }
}

static void leave(struct top *t, int key)
{
    (void)key;
    t->mode = MODE_MAIN;
}

static void (*const keys[])(struct top *t, int key) = {
    [MODE_MAIN] = top_key_main,   [MODE_FILTER] = top_key_filter,   [MODE_GOTO] = top_key_goto,
    [MODE_FIT] = top_key_fit,     [MODE_SETUP] = top_key_setup,     [MODE_SIGNAL] = top_key_signal,
    [MODE_GUARD] = top_key_guard, [MODE_DETAILS] = top_key_details, [MODE_ANSWER] = leave,
    [MODE_HELP] = leave,          [MODE_CONSENT] = top_key_consent, [MODE_NICE] = top_key_nice,
};

void top_key(struct top *t, int key)
{
    t->note[0] = '\0';
    keys[t->mode](t, key);
}
