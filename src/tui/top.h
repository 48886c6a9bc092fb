/* SPDX-License-Identifier: Apache-2.0
 * The live view as a state machine: keys, mouse, sizes, samples and answers go in, a state comes out, and requests for the program
 * that can reach a terminal, a daemon or a process. No clock, no I/O, no thread.
 *
 *   keys, mouse, resize ──┐                       ┌──▶ draw_frame() ──▶ canvas ──▶ terminal, text
 *   samples, explanations ┼──▶ struct top ────────┤
 *   answers about the past┘                       └──▶ requests: quit, copy, ask the past, signal, ...
 */
#pragma once

#include "format/table/table.h"
#include "model/snapshot.h"
#include "tui/trail.h"

struct why;

/* Keys beyond characters. */
enum {
    TOP_KEY_UP = 0x110000,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_BACKSPACE,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_TAB,
    TOP_KEY_BACK_TAB,
    TOP_KEY_F1, /* up to F10, in a row */
    TOP_KEY_F10 = TOP_KEY_F1 + 9,
};

enum top_mouse { TOP_CLICK, TOP_DRAG, TOP_WHEEL_UP, TOP_WHEEL_DOWN };

enum top_tab { TAB_OVERVIEW, TAB_WHY, TAB_ALERTS, TAB_HEALTH, TAB_FORECAST, TAB_ENERGY, TAB_GUARD, TAB_HOSTS, TAB_COUNT };

/* What takes the keys. */
enum top_mode {
    MODE_MAIN,
    MODE_SETUP, /* the whole screen */
    MODE_FILTER,
    MODE_GOTO,
    MODE_FIT,
    MODE_HELP,
    MODE_DETAILS,
    MODE_SIGNAL,
    MODE_CONSENT, /* whether processes may be signaled at all */
    MODE_NICE,
    MODE_GUARD,
    MODE_ANSWER
};

enum top_group { GROUPED_NOT, GROUPED_TREE, GROUPED_USER, GROUPED_CONTAINER, GROUPED_JOB, GROUPED_MODEL, GROUPED_COUNT };

enum top_column {
    COL_GPU,
    COL_PID,
    COL_USER,
    COL_TYPE,
    COL_VRAM,
    COL_SM,
    COL_WORK,
    COL_MEM,
    COL_ENC,
    COL_DEC,
    COL_WATTS,
    COL_TOKENS,
    COL_BY,
    COL_CPU,
    COL_RAM,
    COL_AGE,
    COL_IDLE,
    COL_CONTAINER,
    COL_JOB,
    COL_LIMIT,
    COL_MODEL,
    COL_NAME,
    COL_COMMAND,
    COL_COUNT
};

enum request_kind {
    REQUEST_NOTHING,
    REQUEST_END,
    REQUEST_STOP,
    REQUEST_COPY,
    REQUEST_AT,
    REQUEST_SERIES,
    REQUEST_PANE,
    REQUEST_SIGNAL,
    REQUEST_NICE,
    REQUEST_GUARD,
    REQUEST_DETAILS,
    REQUEST_FIT,
    REQUEST_HOST,
    REQUEST_VIEW,
    REQUEST_SAVE
};

struct top_request {
    enum request_kind kind;
    int64_t number;    /* a moment, a tab, a signal */
    int64_t window_ms; /* of series */
    int width;         /* of a tab's text */
    int32_t pid;
    int64_t start_key; /* with the pid, the very process */
    char text[256];
};

enum {
    TOP_REQUESTS = 96,    /* more than there are tags: a signal for each */
    TOP_INPUT_SIZE = 240, /* the path of a model is typed, too */
    TOP_NOTE_SIZE = 200,
    TOP_KEPT = 240,      /* samples kept to go back to without a daemon */
    TOP_KEPT_GPUS = 480, /* ... and GPUs in them, all together */
    TOP_TREE_DEPTH = 12,
    TOP_TAGS = 64,
    TOP_MARKS = 64,
    TOP_ZONES = 192,
    TOP_WORKERS = 32,
    TOP_NAME_SIZE = 64,
};

/* A line of the process table. */
struct top_row {
    const struct gpu *gpu;
    const struct process *process; /* NULL: the head of a group */
    char name[PROCESS_MODEL_SIZE]; /* of the group */
    size_t members;
    int32_t pid;        /* of a head that is a process without a GPU: the parent of others; 0: none */
    struct process sum; /* of the group */
    int depth;          /* in the tree */
    unsigned open;      /* a bit for each depth at which the tree goes on below */
};

/* Who was busy when: to tell who only holds memory. */
struct top_busy {
    int32_t pid;
    int gpu_index;
    int64_t start_key, since_ms; /* not busy since */
    int64_t first_ms, last_ms;   /* seen from, to */
    double energy_mj;            /* in between */
    bool seen;
};

struct top_mark {
    int64_t at_ms;
    int gpu_index;
    bool bad;
    char text[96];
};

/* Where a click does what; written while a frame is drawn. */
enum zone_kind {
    ZONE_TAB,
    ZONE_GPU,
    ZONE_SORT,
    ZONE_ROW,
    ZONE_TIME,
    ZONE_HEADLINE,
    ZONE_KEY,
    ZONE_WORKER,
    ZONE_HOST,
    ZONE_SETUP,
    ZONE_PART
};
struct zone {
    enum zone_kind kind;
    int x, y, width, height;
    int64_t number;
};

/* What the daemon judges of a GPU. */
struct top_badge {
    char health[16];  /* "" not known, "healthy", "degraded", ... */
    char reason[128]; /* why it is not healthy */
    int64_t full_ms;  /* until its memory is full; 0: not foreseen */
};

/* A process from close by: what is only read on request, and its run on the GPU. */
struct top_details {
    int32_t pid;
    int64_t start_key;
    char *text; /* lines of "LABEL\tTEXT" */
    size_t slots;
    float *vram, *util; /* slots of each, 0 to 1, NAN: not known; in one block that begins with vram */
    int64_t since_ms, until_ms;
    int64_t energy_mj; /* since `since_ms`; -1: not known */
    int64_t peak_bytes;
};

struct top_worker {
    char name[TOP_NAME_SIZE], state[32], method[32];
    char gpus[32]; /* "GPU 0, 1"; "" not known */
    char reason[160], problem[160];
    struct reading bytes; /* held, or to come back */
    int64_t resumes_ms;   /* when, if nothing changes; 0: not foreseen */
    int64_t evictions, since_ms;
    bool held;
};

/* Why the cursor's moment can't be shown. */
struct top_missing {
    int64_t at_ms;              /* the moment; 0: nothing is missing */
    int64_t since_ms, until_ms; /* the last stored moment before it and the first one after it; 0: none */
    bool unanswered;            /* it may be stored: the daemon did not say */
    char text[TOP_NOTE_SIZE];   /* what is known about it */
};

/* What is kept between runs. */
struct top_settings {
    char theme[16];
    char sort[16];
    bool reverse;
    int64_t window_ms;
    enum top_group group;
    unsigned columns;     /* bits of enum top_column */
    unsigned off[5];      /* what is left out, by enum setup_part */
    enum trail_of metric; /* of the heat map and the short plots */
    bool compute_only;
    bool hide_idle; /* processes that only hold memory */
    bool blocks;    /* plots in blocks instead of dots */
    bool act;       /* a person has said once that their processes may be signaled */
};

struct top_fleet;

struct top {
    int width, height;
    bool utf8, allow_signals, read_only, daemon, paused;
    const char *host;               /* another host that is shown; NULL: this one */
    const struct top *const *hosts; /* all that are watched, this one among them; NULL: only one */
    size_t host_count, host_choice;
    struct top_fleet *fleet; /* all hosts of a database are shown; NULL: hosts that are asked themselves */
    bool has_fleet;          /* the view of the hosts is that of a database */
    int32_t followed;        /* the process that the selection stays with; 0: none */
    struct top_settings settings;
    enum top_tab tab;
    enum top_mode mode;
    int only;          /* position of the GPU that was chosen, ALL_GPUS */
    struct wall now;   /* of the newest sample */
    int64_t cursor_ms; /* 0: now */
    bool waiting;      /* for the answer about the cursor's moment */
    const struct snapshot *live, *past;
    struct why *why, *past_why;
    struct top_missing missing; /* the answer about the cursor's moment was that there is none */
    struct trail *trails, *far; /* up to now; around a moment that is further back than the window */
    size_t trail_count;
    int64_t far_until_ms; /* the end of `far` on screen; 0: the plots end now */
    int64_t interval_ms;

    const struct snapshot *kept[TOP_KEPT];
    size_t kept_count;
    struct top_busy *busy;
    size_t busy_count;
    struct top_mark marks[TOP_MARKS];
    size_t mark_count;
    struct top_badge badges[GPU_MAX];

    struct top_row *rows;
    size_t row_count, hidden;
    size_t selected, first, page; /* in the rows; `page` is what the last frame had room for */
    int32_t tags[TOP_TAGS];
    size_t tag_count;
    size_t dialog_lines, dialog_page; /* of the details, as drawn last */
    char filter[TOP_INPUT_SIZE], input[TOP_INPUT_SIZE];
    size_t choice;   /* in a dialog */
    int setup;       /* the part of the setup screen */
    int nice;        /* by how much the niceness is to change */
    int32_t subject; /* the process that a dialog is about; 0: none */
    struct top_details details;
    int64_t details_at_ms; /* asked for */
    char *answer;          /* to a question that was typed, in a box */
    double price_per_kwh;  /* 0: not known */
    const char *currency;

    char *panes[TAB_COUNT];
    int64_t pane_at_ms[TAB_COUNT];
    size_t scroll;
    size_t pane_lines;
    struct top_worker workers[TOP_WORKERS];
    size_t worker_count, worker;
    char worker_name[TOP_NAME_SIZE]; /* that a dialog is about */

    char note[TOP_NOTE_SIZE];
    bool note_bad;
    char trouble[TOP_NOTE_SIZE]; /* why there is no new sample; "" fine */

    struct top_request requests[TOP_REQUESTS];
    size_t request_count;
    struct zone zones[TOP_ZONES];
    size_t zone_count;
    struct zone scrubbed; /* the plot that the mouse was pressed on: dragging moves through its time; no width: none */
};

/* Lines of "What     keys": what a key is about in the first eight columns, blank where it goes on. */
extern const char *const top_help[];
extern const size_t top_help_count;
extern const struct top_settings top_defaults;
extern const char *const top_group_names[GROUPED_COUNT];
extern const int64_t top_windows_ms[];
extern const size_t top_window_count;

struct top_column_info {
    const char *name, *title, *sort; /* sort: of process_sort_keys; NULL: not sorted by it */
    int width;                       /* 0: what is left */
    bool right;
    int rank; /* the higher, the sooner it goes when there is no room */
};
extern const struct top_column_info top_columns[COL_COUNT];

int top_init(struct top *t, const struct top_settings *settings);
void top_done(struct top *t);

/* Another host is shown now: as `from` was, with its view, order and size. */
void top_switch(struct top *t, const struct top *from);
/* Views that there are: that of the hosts only where there are several. */
size_t top_tab_count(const struct top *t);
const char *top_tab_name(size_t tab);

/* That view; one that another host or all of them have is a request. */
void top_open_tab(struct top *t, enum top_tab tab);
void top_key(struct top *t, int key);
void top_mouse(struct top *t, enum top_mouse what, int x, int y);
void top_resize(struct top *t, int width, int height);

/* Takes the reference and the explanation (which may be NULL: the one before stays). */
void top_sample(struct top *t, const struct snapshot *s, struct why *why, bool daemon);
void top_trouble(struct top *t, const char *text);
/* The moment that was asked for. Takes both. */
void top_moment(struct top *t, int64_t at_ms, const struct snapshot *s, struct why *why, const char *note);
void top_drop_past(struct top *t);
/* It can't be shown: nothing is, until another moment is chosen. */
void top_miss(struct top *t, const struct top_missing *missing);
/* Views that follow the cursor into the past; the others are about now. */
bool top_tab_has_past(enum top_tab tab);
/* Older points of a GPU: up to now, or around `until_ms`. */
void top_series(struct top *t, size_t gpu, int64_t until_ms, const struct trail_point *points, size_t count);
void top_mark(struct top *t, const struct top_mark *mark);
/* The text of a tab; takes it. */
void top_pane(struct top *t, enum top_tab tab, char *text, int64_t at_ms);
/* The answer to a question that was typed; takes it. */
void top_answer(struct top *t, char *text);
/* Takes what it points to; of another process than the selected one it is dropped. */
void top_details(struct top *t, struct top_details *details);
/* Asks for them again, now and then, while they are open. */
void top_details_again(struct top *t);
void top_details_done(struct top_details *details);
void top_note(struct top *t, bool bad, const char *text);

struct top_request *top_want(struct top *t, enum request_kind kind);
/* The next request, REQUEST_NOTHING when there is none. */
struct top_request top_next_request(struct top *t);

/* What is on screen: the live sample, or the moment of the cursor. NULL before the first, and where that moment is missing. */
const struct snapshot *top_shown(const struct top *t);
const struct why *top_shown_why(const struct top *t);
/* The explanation of the chosen GPU, or of the one that matters most; NULL without one. */
const struct why_part *top_why_part(const struct top *t);
/* A command in the advice that can be pasted; false when there is none. */
bool top_advice_command(const struct top *t, char *text, size_t size);
/* The end of the plots. */
int64_t top_until_ms(const struct top *t);
/* What that process has drawn since it was first seen here; NULL: nothing is known. */
const struct top_busy *top_seen(const struct top *t, const struct gpu *gpu, const struct process *p);
/* How long that process has held memory without computing, 0: it has not. */
int64_t top_idle_ms(const struct top *t, const struct gpu *gpu, const struct process *p);
bool top_tagged(const struct top *t, int32_t pid);
const struct top_row *top_selected(const struct top *t);
/* From the history: that process has not computed since then. */
void top_idle_since(struct top *t, int32_t pid, int gpu_index, int64_t since_ms);
/* Who computes, from sample to sample. */
void top_watch_busy(struct top *t, const struct snapshot *s);
/* Rows anew, after a sample, a filter, another order. */
void top_make_rows(struct top *t);
void top_zone(struct top *t, enum zone_kind kind, int x, int y, int width, int height, int64_t number);
