/* SPDX-License-Identifier: Apache-2.0
 * The live view as a state machine: keys, mouse, sizes, samples and answers go in; a state comes out, and requests for the program,
 * which can access the terminal, a daemon or processes. No clock, no I/O, no thread.
 *
 *   keys, mouse, resize ──┐                       ┌──▶ draw_frame() ──▶ canvas ──▶ terminal, text
 *   samples, explanations ┼──▶ struct top ────────┤
 *   answers about the past┘                       └──▶ requests: quit, copy, ask the past, signal, ...
 */
#pragma once

#include "format/table/table.h"
#include "model/snapshot.h"

struct cli;
struct why;

/* ---- trail.c: the course of one GPU's main readings, for plots: a bounded list of points, oldest first, thinned to what a window
 * needs ---- */

enum { TRAIL_POINTS = 1024 };

enum trail_of {
    TRAIL_UTIL,
    TRAIL_VRAM,
    TRAIL_POWER,
    TRAIL_TEMP,
    TRAIL_FAN,
    TRAIL_CLOCK,
    TRAIL_WORK,
    TRAIL_CHOICES, /* rows and the heat map show one of the above */
    TRAIL_RX = TRAIL_CHOICES,
    TRAIL_TX,
    TRAIL_ENCODER,
    TRAIL_DECODER,
    TRAIL_COUNT
};

struct trail_point {
    int64_t at_ms;
    float value[TRAIL_COUNT]; /* percent, GiB, W, °C, MHz, GB/s; NAN: unknown */
};

/* The metric of each, and its factor beside the unit that JSON has. */
struct trail_info {
    enum metric metric;
    double factor;
};
extern const struct trail_info trail_table[TRAIL_COUNT];
/* What a reading is multiplied by. */
double trail_scale(enum trail_of of);

struct trail {
    size_t count, capacity;
    struct trail_point *points;
};

void trail_done(struct trail *t);
/* Appends a point, unless it is older than the last one. If it is within `min_ms` of the second to last, it replaces the last. */
void trail_add(struct trail *t, const struct trail_point *point, int64_t min_ms);
/* Inserts older points at the front; as many of the newest as fit. */
void trail_prepend(struct trail *t, const struct trail_point *points, size_t count);
struct trail_point trail_point_of(const struct gpu *gpu, int64_t at_ms);

/* Resamples a window to `slots` means. An empty slot repeats the previous point if that is at most `hold_ms` old. */
void trail_sample(const struct trail *t, enum trail_of of, int64_t since_ms, int64_t until_ms, int64_t hold_ms, size_t slots,
                  float *values);

/* ---- the state of the view ---- */

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
    TOP_KEY_F1, /* consecutive up to F10 */
    TOP_KEY_F10 = TOP_KEY_F1 + 9,
};

enum top_mouse { TOP_CLICK, TOP_DRAG, TOP_WHEEL_UP, TOP_WHEEL_DOWN };

enum top_tab { TAB_OVERVIEW, TAB_WHY, TAB_ALERTS, TAB_HEALTH, TAB_FORECAST, TAB_ENERGY, TAB_GUARD, TAB_HOSTS, TAB_COUNT };

/* What the keys apply to. */
enum top_mode {
    MODE_MAIN,
    MODE_SETUP, /* fills the screen */
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
    REQUEST_GPUS,
    REQUEST_HOST,
    REQUEST_VIEW,
    REQUEST_SAVE
};

struct top_request {
    enum request_kind kind;
    int64_t number;    /* a moment, a tab, a signal */
    int64_t window_ms; /* for series */
    int width;         /* for a tab's text */
    int32_t pid;
    int64_t start_key; /* with the PID, identifies the process */
    bool opened;       /* of details: for the first time, so its lines are wanted, too */
    char text[256];
};

enum {
    TOP_REQUESTS = 96,    /* more than TOP_TAGS, as each tag may need a signal */
    TOP_INPUT_SIZE = 240, /* long enough for the path of a model */
    TOP_NOTE_SIZE = 200,
    TOP_KEPT = 240,      /* past samples to keep without a daemon */
    TOP_KEPT_GPUS = 480, /* ... and the total number of GPUs in them */
    TOP_TREE_DEPTH = 12,
    TOP_TAGS = 64,
    TOP_MARKS = 64,
    TOP_ZONES = 192,
    TOP_WORKERS = 32,
    TOP_GPUS_SIZE = 240,
    TOP_NAME_SIZE = 64,
};

/* A line of the process table. */
struct top_row {
    const struct gpu *gpu;
    const struct process *process; /* NULL: the heading of a group */
    char name[PROCESS_MODEL_SIZE]; /* of the group */
    size_t members;
    int32_t pid;        /* of a heading that is a process without a GPU, the parent of others; 0: none */
    struct process sum; /* of the group */
    int depth;          /* in the tree */
    unsigned open;      /* a bit for each depth at which the tree continues below */
};

/* When a process was last busy, to find those that only hold memory. */
struct top_busy {
    int32_t pid;
    int gpu_index;
    int64_t start_key, since_ms; /* idle since */
    int64_t first_ms, last_ms;   /* first and last seen */
    double energy_mj;            /* in between */
    bool seen;
};

struct top_mark {
    int64_t at_ms;
    int gpu_index;
    bool bad;
    char text[192];
};

/* Clickable areas; recorded while a frame is drawn. */
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

/* The daemon's verdict about a GPU. */
struct top_badge {
    char health[16];  /* "": unknown, "healthy", "degraded", ... */
    char reason[128]; /* why it is not healthy */
    int64_t full_ms;  /* until its memory is full; 0: not expected */
};

/* Details of a process, read on request, and its run on the GPU. */
struct top_details {
    int32_t pid;
    int64_t start_key;
    char *text; /* lines of "LABEL\tTEXT" */
    size_t slots;
    float *vram, *util; /* slots of each, 0 to 1, NAN: unknown; in one block that begins with vram */
    int64_t since_ms, until_ms;
    int64_t energy_mj; /* since `since_ms`; -1: unknown */
    int64_t peak_bytes;
};

struct top_worker {
    char name[TOP_NAME_SIZE], state[32], method[32];
    char gpus[32]; /* "GPU 0, 1"; "": unknown */
    char reason[160], problem[160];
    struct reading bytes; /* held, or needed to resume */
    int64_t resumes_ms;   /* when, if nothing changes; 0: not expected */
    int64_t evictions, since_ms;
    bool held;
};

/* Why the cursor's moment can't be shown. */
struct top_missing {
    int64_t at_ms;              /* the moment; 0: nothing is missing */
    int64_t since_ms, until_ms; /* the last stored moment before and the first one after; 0: none */
    bool unanswered;            /* it may be stored: the daemon did not answer */
    char text[TOP_NOTE_SIZE];   /* what is known about it */
};

/* Saved between runs. */
struct top_settings {
    char theme[16];
    char sort[16];
    bool reverse;
    int64_t window_ms;
    enum top_group group;
    unsigned columns;         /* bits of enum top_column */
    uint8_t order[COL_COUNT]; /* of the columns, each plus 1; 0 first: as in enum top_column */
    unsigned off[5];          /* hidden items, by enum setup_part; unused for SETUP_PROCESSES and SETUP_LOOK */
    enum trail_of metric;     /* of the heat map and the short plots */
    bool compute_only;
    bool hide_idle;           /* processes that only hold memory */
    bool blocks;              /* draw plots in blocks instead of dots */
    bool act;                 /* the user agreed that processes may be signaled */
    char gpus[TOP_GPUS_SIZE]; /* "0,2", as after --gpu; "": all */
};

struct top_fleet;

struct top {
    int width, height;
    bool utf8, allow_signals, read_only, daemon, paused;
    const char *host;               /* another host; NULL: this one */
    const struct top *const *hosts; /* all watched hosts, including this one; NULL: only one */
    size_t host_count, host_choice;
    struct top_fleet *fleet; /* shows all hosts of a database; NULL: hosts are queried directly */
    bool has_fleet;          /* the view of hosts uses a database */
    int32_t followed;        /* the process that the selection follows; 0: none */
    struct top_settings settings;
    enum top_tab tab;
    enum top_mode mode;
    int only;          /* position of the selected GPU, or ALL_GPUS */
    struct wall now;   /* of the newest sample */
    int64_t cursor_ms; /* 0: now */
    bool waiting;      /* for the answer about the cursor's moment */
    const struct snapshot *live, *past;
    const struct snapshot *whole; /* with the GPUs that are not shown; NULL: unknown */
    struct why *why, *past_why;
    struct top_missing missing; /* set if the cursor's moment is not stored */
    struct trail *trails, *far; /* up to now; around a moment that lies before the window */
    size_t trail_count;
    int64_t far_until_ms; /* the end of `far` on screen; 0: the plots end now */
    int64_t interval_ms;

    const struct snapshot *kept[TOP_KEPT];
    size_t kept_count;
    struct top_busy *busy;
    size_t busy_count, busy_sorted; /* the first ones are in order */
    struct top_mark marks[TOP_MARKS];
    size_t mark_count;
    struct top_badge badges[GPU_MAX];

    struct top_row *rows;
    size_t row_count, hidden;
    size_t selected, first, page; /* in the rows; `page` is how many fit in the last frame */
    int32_t tags[TOP_TAGS];
    size_t tag_count;
    size_t dialog_lines, dialog_page; /* of the details, as last drawn */
    char filter[TOP_INPUT_SIZE], input[TOP_INPUT_SIZE];
    size_t choice;   /* in a dialog */
    int setup;       /* category of the setup screen */
    int nice;        /* requested change of the nice value */
    int32_t subject; /* the process of a dialog; 0: none */
    struct top_details details;
    int64_t details_at_ms; /* when they were requested */
    char *where;           /* lines of "LABEL\tTEXT" about its code; NULL: not read yet */
    char *answer;          /* to a query, in a box */
    const char *answer_title;
    double price_per_kwh; /* 0: unknown */
    const char *currency;

    char *panes[TAB_COUNT];
    int64_t pane_at_ms[TAB_COUNT];
    size_t scroll;
    size_t pane_lines;
    struct top_worker workers[TOP_WORKERS];
    size_t worker_count, worker;
    char worker_name[TOP_NAME_SIZE]; /* of a dialog */

    char note[TOP_NOTE_SIZE];
    bool note_bad;
    char trouble[TOP_NOTE_SIZE]; /* why there is no new sample; "": fine */

    struct top_request requests[TOP_REQUESTS];
    size_t request_count;
    struct zone zones[TOP_ZONES];
    size_t zone_count;
    struct zone scrubbed; /* the plot where the mouse was pressed: dragging moves through its time; no width: none */
};

/* The signals of the dialog, in its order: mild ones first. */
struct top_signal {
    int number;
    const char *name, *what;
};
extern const struct top_signal top_signals[];
extern const size_t top_signal_count;

/* Lines of "What     keys": the subject in the first eight columns, blank on continuation lines. */
extern const char *const top_help[];
extern const size_t top_help_count;
extern const struct top_settings top_defaults;
extern const char *const top_group_names[GROUPED_COUNT + 1];
extern const int64_t top_windows_ms[];
extern const size_t top_window_count;

struct top_column_info {
    const char *title, *sort; /* sort: from process_sort_keys; NULL: not sortable */
    int width;                /* 0: the rest */
    bool right;
    int rank; /* higher ones are dropped first if there is no room */
};
extern const struct top_column_info top_columns[COL_COUNT];

int top_init(struct top *t, const struct top_settings *settings);
void top_done(struct top *t);

/* Shows another host with the view, order and size of `from`. */
void top_switch(struct top *t, const struct top *from);
/* The number of tabs: the one of hosts exists only if there are several. */
size_t top_tab_count(const struct top *t);

/* Opens that tab; requests it if the fleet, or the host behind it, has it. */
void top_open_tab(struct top *t, enum top_tab tab);
void top_key(struct top *t, int key);
void top_mouse(struct top *t, enum top_mouse what, int x, int y);
void top_resize(struct top *t, int width, int height);

/* Takes ownership of the reference and the explanation (NULL: keep the previous one). */
void top_sample(struct top *t, const struct snapshot *s, struct why *why, bool daemon);
void top_trouble(struct top *t, const char *text);
/* The requested moment. Takes ownership of both. */
void top_moment(struct top *t, int64_t at_ms, const struct snapshot *s, struct why *why, const char *note);
void top_drop_past(struct top *t);
/* The moment can't be shown: the screen stays empty until another one is selected. */
void top_miss(struct top *t, const struct top_missing *missing);
/* Views that follow the cursor into the past; the others show the present. */
bool top_tab_has_past(enum top_tab tab);
/* Older points of a GPU: up to now, or around `until_ms`. */
void top_series(struct top *t, size_t gpu, int64_t until_ms, const struct trail_point *points, size_t count);
void top_mark(struct top *t, const struct top_mark *mark);
/* The text of a tab; takes ownership. */
void top_pane(struct top *t, enum top_tab tab, char *text, int64_t at_ms);
/* The answer to a query, in a box with this title; takes ownership of the text. */
void top_answer(struct top *t, const char *title, char *text);
/* Takes ownership of what it points to; drops details of another process than the selected one. */
void top_details(struct top *t, struct top_details *details);
/* The same for the lines of its code. */
void top_where(struct top *t, int32_t pid, char *text);
/* Requests the details again every few seconds while they are open. */
void top_details_again(struct top *t);
void top_details_done(struct top_details *details);
void top_note(struct top *t, bool bad, const char *text);

struct top_request *top_want(struct top *t, enum request_kind kind);
/* Whether the GPU at this position of `whole` is shown; shows or hides it. */
bool top_gpu_on(const struct top *t, int position);
void top_toggle_gpu(struct top *t, int position);
/* The next request; REQUEST_NOTHING if there is none. */
struct top_request top_next_request(struct top *t);

/* What is on screen: the live sample, or the cursor's moment. NULL before the first sample, and if that moment is missing. */
const struct snapshot *top_shown(const struct top *t);
const struct why *top_shown_why(const struct top *t);
/* The chosen metric of the heat map and the short plots; utilization where the work is not measured. */
enum trail_of top_metric(const struct top *t);
/* The explanation of the selected GPU, or of the most important one; NULL without one. */
const struct why_part *top_why_part(const struct top *t);
/* A command in the advice that can be pasted; false if there is none. */
bool top_advice_command(const struct top *t, char *text, size_t size);
/* The end of the plots. */
int64_t top_until_ms(const struct top *t);
/* That process's energy since it was first seen here; NULL: unknown. */
const struct top_busy *top_seen(const struct top *t, const struct gpu *gpu, const struct process *p);
/* How long that process has held memory without computing; 0: it has not. */
int64_t top_idle_ms(const struct top *t, const struct gpu *gpu, const struct process *p);
bool top_tagged(const struct top *t, int32_t pid);
const struct top_row *top_selected(const struct top *t);
/* From the history: that process has been idle since then. */
void top_idle_since(struct top *t, int32_t pid, int gpu_index, int64_t since_ms);
/* Tracks which processes compute, from sample to sample. */
void top_watch_busy(struct top *t, const struct snapshot *s);
/* Rebuilds the rows, after a sample, a filter or another order. */
void top_make_rows(struct top *t);
void top_zone(struct top *t, enum zone_kind kind, int x, int y, int width, int height, int64_t number);

/* ---- tui_live.c: `whirr top` as a whole connects the state, the feed and the terminal in one loop ---- */

struct live_options {
    int64_t interval_ms;
    const char *record; /* NULL: not recorded */
    const char *fleet;  /* the database of all hosts; NULL: none */
    bool fleet_first;   /* begin with all hosts */
    int64_t fleet_interval_ms;
    const char *prefs; /* the settings file; "": none */
    bool read_only, allow_signals, mouse, direct_color;
    int width, height; /* of --once */
};

/* Returns the exit status. */
int live_run(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
/* Prints one frame as text. */
int live_once(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
