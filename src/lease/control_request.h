/* SPDX-License-Identifier: Apache-2.0
 * A command's requests to whirr-control, which changes settings and decides who gets GPUs: one JSON object per line over its Unix
 * socket, and one line back.
 *
 *   {"op": "set", "settings": [...], "until": "...", "hold": true}   a lease; with "hold" it lasts as long as the connection
 *   {"op": "stock", "settings": [...]}                               ends leases of these settings, and sets the stock values
 *   {"op": "confirm", "id": "...", "until": "..."}                   sets a new end
 *   {"op": "end", "id": "..."}                                       also of GPUs
 *   {"op": "ready"}                                                  nothing: does it decide about GPUs?
 *   {"op": "begin", "id": "..."}                                     comes back with a descriptor: the lease lives while it is open
 *   {"op": "commit", "lease": {...}}                                 what is begun here, a place in the queue, a reservation
 *
 * Answers: {"ok": true, "lease": {...}, "words": "..."}, {"ok": false, "error": "...", "code": "..."}; later, for a held one,
 * {"ended": "why"}.
 */
#pragma once

#include <sys/types.h>

#include "lease/lease_settings.h"

enum { REQUEST_MAX = 16384, REQUEST_SETTINGS_MAX = LEASE_SETTINGS_MAX };

enum request_op { REQUEST_SET, REQUEST_STOCK, REQUEST_CONFIRM, REQUEST_END, REQUEST_READY, REQUEST_BEGIN, REQUEST_COMMIT };

struct request_setting {
    char gpu[GPU_UUID_SIZE];
    int gpu_index;
    enum control_kind kind;
    struct control_value value;
};

struct request {
    enum request_op op;
    char id[LEASE_ID_SIZE];
    struct wall until; /* ms 0: open-ended */
    bool hold;
    char command[PROCESS_COMMAND_SIZE];
    size_t count;
    struct request_setting settings[REQUEST_SETTINGS_MAX];
    struct lease lease; /* to be committed */
};

/* -EBADMSG with what is wrong. */
int request_read(struct str text, struct request *ret, struct error *err);

/* What a refusal says beside its words, and back: -EPERM for an unknown one. */
const char *request_code(int rc);

/* Where the helper listens: WHIRR_CONTROL_SOCKET, else /run/whirr-control.sock. */
enum { CONTROL_SOCKET_SIZE = 108 };
void control_socket(char path[CONTROL_SOCKET_SIZE]);

/* ---- the command's side ---- */

/* Whether this user may change settings: root, or a member of control.group if that is allowed and the helper is available. */
struct config;
bool control_may(const struct config *config);

/* A connection, or -errno: -ENOENT or -ECONNREFUSED: no helper. */
int helper_connect(void);
/* Sends it and waits for the answer, with its lease if there is one. The errors are those of request_code(). */
int helper_ask(int fd, const struct request *r, struct lease *ret, char words[SETTINGS_WORDS], struct error *err);
/* One byte, and a descriptor that may come with it. */
ssize_t helper_receive(int fd, char *byte, int *passed);
/* The next line of a held lease, which ended: the reason. -EPIPE: the helper is gone. */
int helper_ended(int fd, char why[SETTINGS_WORDS]);

/* ---- leases of GPUs, where whirr-control decides about them (lease_broker.h) ---- */

/* 1: it decides about GPUs, and its copies are there; 0: it isn't there, or an earlier version; -EPIPE: it has just ended. */
int lease_service_ready(struct error *err);
/* Begins, commits (`l`, which becomes what was written) or ends a lease. `ret_fd`: of what was begun, else NULL. */
struct lease_dir;
int lease_service_ask(struct lease_dir *d, enum request_op op, const char *id, struct lease *l, int *ret_fd, struct error *err);

/* ---- planned changes of settings: for commands, and for API clients ---- */

/* A change of one GPU, checked but not made. */
struct change {
    struct request_setting setting;
    struct control_state state;
    const struct control_gpu *gpu;
    struct reading draw_mw; /* its power draw */
    bool denied;            /* this process lacks permission */
};

struct change_list {
    struct control_set set;
    size_t count;
    struct change at[REQUEST_SETTINGS_MAX];
};
void change_list_done(struct change_list *l);
#define AUTO_CHANGES __attribute__((cleanup(change_list_done)))

/* Adds one as people write it ("330W", "1400-1800"), using the open `set`. -EINVAL, -ERANGE, -EOPNOTSUPP with a sentence. */
int plan_setting(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err);
/* Adds whatever makes it quieter. */
int plan_quiet(struct change_list *l, const struct gpu *gpu, struct error *err);
