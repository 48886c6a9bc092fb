/* SPDX-License-Identifier: Apache-2.0
 * The plan of `whirr free`: what holds the GPU, and what can be done about each. Its words and JSON are functions of it alone.
 */
#pragma once

#include "format/table/page_table.h"
#include "model/snapshot.h"

enum { HOLDERS_MAX = 128, HOLDER_NAME_SIZE = 192, FREE_WORKERS_MAX = 16 };

enum holder_way {
    HOLDER_UNLOADS, /* its server has an API for that, or a guard pauses it */
    HOLDER_LEASED,  /* another user's lease */
    HOLDER_DESKTOP, /* draws the screen */
    HOLDER_OWN,     /* a program of this user */
    HOLDER_OTHERS,  /* of another user */
};

struct gpu_holder {
    int gpu_index;
    int32_t pid;
    char name[HOLDER_NAME_SIZE];
    char user[PROCESS_USER_SIZE];
    char lease[LEASE_ID_SIZE]; /* "": none */
    char worker[64];           /* UNLOADS: its name */
    char method[64];           /* UNLOADS: "ollama", "checkpoint" */
    enum holder_way way;
    struct reading bytes;
};

/* A worker that can be taken off the GPU: of a running guard, or of one that this command starts. */
struct free_worker {
    char name[64], method[64];
    int32_t pid; /* its first process; 0: none is on a GPU */
    bool guarded;
};

struct free_plan {
    size_t count;
    struct gpu_holder holders[HOLDERS_MAX];
    int64_t unload_bytes; /* held by those that can be unloaded */
    bool simulated;
};

/* Which processes hold the GPU at `only` (ALL_GPUS: any), largest first on each GPU, and how each can make room. `user`: who asks;
 * "": unknown. */
void free_plan_make(struct free_plan *plan, const struct snapshot *s, int only, const struct free_worker *workers, size_t count,
                    const char *user);
void free_plan_text(struct buf *out, const struct page *page, const struct free_plan *plan);
void free_plan_json(struct buf *out, const struct free_plan *plan, int64_t freed_bytes, bool back);
