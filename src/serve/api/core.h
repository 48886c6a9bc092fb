/* SPDX-License-Identifier: Apache-2.0
 * The server's internals: its state, and the handlers of its routes, by file.
 */
#pragma once

#include <pthread.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/mailbox.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "http/site.h"
#include "http/token.h"
#include "lease/control_request.h"
#include "serve/data/data.h"
#include "serve/live/live.h"
#include "serve/server.h"

struct process_rows;

/* ---- errand.c: work that would block the loop, for one request at a time. A thread does it while the request is parked. ---- */

struct errand;
struct errand_ops {
    void (*work)(struct errand *e);  /* in the thread */
    void (*after)(struct errand *e); /* afterwards, in the loop; may be NULL */
    const char *busy;                /* error message for a request while another one waits */
};
extern const struct errand_ops releasing, sampling_cpu, looking_at_lines, changing_setting;

/* The first member of what it works on. */
struct errand {
    const struct errand_ops *ops;
    struct env env; /* this host, even where the GPUs are of a recorded one */
    struct mailbox *done;
    struct watch *watch;
    struct conn *conn; /* the waiting client; NULL once it has left */
    pthread_t thread;
    bool running;
    bool finished; /* the result waits to be sent */
};

int errand_init(struct errand *e, const struct errand_ops *ops, struct loop *loop); /* 0 or -ENOMEM */
/* Joins the thread. */
void errand_end(struct errand *e);
void errand_done(struct errand *e);

/* True if this request was parked for the errand, and the result is available. */
bool errand_is_over(struct errand *e, struct exchange *x);
/* False after refusing this request because of another one. */
bool errand_is_free(const struct errand *e, struct exchange *x);
/* Starts the work for this request; its handler runs again at the end. */
void errand_begin(struct errand *e, struct exchange *x);

/* ---- why_api.c: GET /api/why; /api/why/cpu, where a program on a GPU spends its CPU time, which takes a second to sample; and
 * /api/why/lines, in which lines a Python program spends its time, which takes two. ---- */

void get_why(struct exchange *x);

struct cpu_samples {
    struct errand errand;
    int32_t pid;
    struct address_samples result;
};

void get_why_cpu(struct exchange *x);

struct lines_errand {
    struct errand errand;
    char asked[PROCESS_WORDS];
    int only; /* the GPU that was asked about */
    int32_t pid;
    _Atomic bool cancel;
    /* The result. */
    int rc;
    struct looks looks; /* of rc 0 */
    struct error err;
};

/* Ends a look under way. */
void lines_errand_end(struct lines_errand *l);
void get_why_lines(struct exchange *x);

/* ---- release.c: POST /api/source/release. Closing a driver's library can take seconds. ---- */

struct release {
    struct errand errand; /* uses the engine: end it first */
    struct data *data;
    int result;
    int64_t for_ms;
};

void post_release(struct exchange *x);

/* ---- settings_api.c: POST /api/leases/settings changes a GPU setting for a time, through the helper that has the permission.
 * Takes as long as the driver does. ---- */

struct setting_errand {
    struct errand errand;
    /* The request. */
    struct gpu_id id;
    int gpu_index;
    struct reading draw_mw;
    bool quiet;
    enum control_kind kind;
    char value[CONTROL_TEXT_SIZE];
    struct wall until;
    char who[TOKEN_NAME_SIZE];
    /* The result. */
    int rc;
    struct lease lease;
    struct error err;
};

void post_setting(struct exchange *x);

/* ---- history_api.c: finished tasks of the store's readers ---- */

struct history {
    struct mailbox *done;
    struct watch *watch;
};

int history_init(struct history *h, struct loop *loop);
/* Call after the store has ended: until then it may put tasks into the mailbox. */
void history_done(struct history *h);

/* ---- the server ---- */

enum { SERVER_WATCHES_MAX = 8 };

struct server {
    struct server_options options;
    struct server_parts parts;
    struct site site;
    struct data data;
    struct broadcast live;
    struct release release;
    struct cpu_samples cpu_samples;
    struct lines_errand lines;
    struct setting_errand setting;
    struct history history;
    struct blob *openapi;                      /* created on first use */
    json_t *parameters;                        /* of openapi_parameters(), created on first use */
    struct watch *watches[SERVER_WATCHES_MAX]; /* the daemon's signals and timers */
    size_t watch_count;
    struct watch *stop_timer;
    int64_t stop_at_ms;
    struct mono started;
};

/* The server's own routes; each part has its own table. */
extern const struct route server_routes[];
extern const size_t server_route_count;
/* Finds a request's route: the server's, those of its parts, and the embedded files. */
extern const struct site_ops server_site_ops;

/* ---- audit.c: who did what over the API, from where, with what result; added and removed tokens. A log line and a history event
 * each. ---- */

/* Logs requests that change something, from known clients: strangers are refused and would only fill the history. */
void audit_acted(const struct exchange *x, int status);
/* `how`: "added", "removed", "changed". */
void audit_token(struct server *server, const struct access_token *t, const char *how);

/* ---- ready.c: for handlers of readings: waiting for a fresh sample, finding the requested GPU, responding with the age of the
 * data.
 * ---- */

/* False: the request waits, and is handled again later. After at most half a second it gets the latest sample. */
bool ready_fresh(struct exchange *x, unsigned groups, int64_t max_age_ms);
/* ?max_age_ms=N limits the age of the data; default_ms without it, or -1 for any age. False: it waits, or was answered with 400. */
bool ready_recent(struct exchange *x, int64_t default_ms);
/* ?gpu=INDEX|UUID|PCI. The position, or ALL_GPUS without the parameter; lower than ALL_GPUS after answering with an error. */
int ready_which_gpu(struct exchange *x);
/* The processes on GPUs that a PID or a part of a name means. False: it was answered with an error. */
bool ready_find_process(struct exchange *x, const char *asked, int only, struct process_rows *rows);
/* Responds with 503: there is no sample yet. */
void ready_starting(struct exchange *x);
/* Sends a body about the newest snapshot. NULL, out of memory: the router answers 500. */
void ready_reply(struct exchange *x, struct blob *body, const char *type);
void ready_json(struct exchange *x, struct buf *out);

/* ---- health_api.c: the state of the service itself ---- */

enum service_status { SERVICE_OK, SERVICE_DEGRADED, SERVICE_ERROR };

/* Writes the body of /api/health, and returns the status that it reports. */
void service_health_write(struct server *server, struct buf *out, enum service_status *ret);

/* ---- history_api.c: questions about the past ---- */
void get_stats_history(struct exchange *x);
void get_report(struct exchange *x);
/* True if a request for /api/why is about the past: it has been answered, or will be. */
bool past_handles(struct exchange *x);
void get_history(struct exchange *x);
void get_history_processes(struct exchange *x);
void get_history_events(struct exchange *x);
void get_history_limits(struct exchange *x);

/* ---- login.c: the form that exchanges a token for a cookie, for browsers ---- */
void get_login(struct exchange *x);
void post_login(struct exchange *x);
void post_logout(struct exchange *x);
/* Whether the client may act, and whether because of a cookie: then the page offers to log out. */
void get_session(struct exchange *x);
/* Redirects a browser to the form, and from there back to the requested page. */
void send_to_login(struct exchange *x);

/* ---- mcp.c: POST /mcp, for assistants ---- */
void post_mcp(struct exchange *x);

/* ---- processes_api.c: GET /api/processes, filtered, sorted, and with whole command lines for the owner ---- */
void get_processes(struct exchange *x);

/* ---- widget.c: for people's own pages: flat JSON for widgets and sensors, a badge, and a tile to embed ---- */
void get_widget(struct exchange *x);
void get_badge(struct exchange *x);
void get_tile(struct exchange *x);
