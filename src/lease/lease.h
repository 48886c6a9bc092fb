/* SPDX-License-Identifier: Apache-2.0
 * A lease: something that is held or changed for a time or for a program, written down before it is done and undone at its end.
 *
 *   run       GPUs or room on them, for a program: lives as long as the program
 *   wait      room that `whirr wait` gave away, until it is used, for a short time
 *   reserve   GPUs or room on them for a user, from one moment to another
 *   setting   a power limit, clocks, a fan: changed until its end, then as before
 *
 * Plain data and its JSON, which is the same in the file of a lease and in the API. Where leases are kept is the business of
 * lease_dir.h, and who gets room that of lease_room.h.
 */
#pragma once

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "model/gpu.h"

enum {
    LEASE_GPUS_MAX = 64,
    LEASE_SETTINGS_MAX = 16,
    LEASE_NOTE_SIZE = 160,
    LEASE_BOOT_SIZE = 40,
    LEASE_WHY_SIZE = 96,
    LEASE_BYTES_MAX = 64 * 1024, /* of a file */
};
#define LEASE_TICKET_MAX ((int64_t)1 << 53) /* from there on all are equal */

enum lease_kind { LEASE_RUN, LEASE_WAIT, LEASE_RESERVE, LEASE_SETTING };
enum lease_state { LEASE_WAITING, LEASE_ACTIVE, LEASE_ENDED };

struct lease_gpu {
    char uuid[GPU_UUID_SIZE];  /* of a MIG instance its own; the PCI address where there is none */
    int index;                 /* at the time, of the card; for people */
    struct reading free_bytes; /* of kind wait: what others had left free when it was given */
    struct reading used_bytes; /* what its programs hold now; not in the file */
};

/* One value of one GPU that is changed until the end of the lease. */
struct lease_setting {
    char what[32]; /* "power_limit", ...: its unit is known to who sets it */
    char gpu[GPU_UUID_SIZE];
    char step[16];                        /* how far it is: "written", "done", "active", "restored" */
    struct reading asked, before;         /* absent: that of the driver ("auto", "stock") */
    struct reading least, most;           /* the range of the card */
    char asked_text[32], before_text[32]; /* of settings that are no numbers */
};

struct lease {
    char id[LEASE_ID_SIZE];
    enum lease_kind kind;
    enum lease_state state;
    int64_t uid;
    char user[PROCESS_USER_SIZE];
    int32_t pid;       /* whose life it is bound to; 0: none */
    int64_t start_key; /* with pid and boot the identity of that process */
    char boot[LEASE_BOOT_SIZE];
    char command[PROCESS_COMMAND_SIZE]; /* secrets masked; "" none */
    char note[LEASE_NOTE_SIZE];
    struct wall made, from, until; /* until: ms 0 is an open end */
    int64_t ticket;                /* its place in the queue: the smaller first */
    int gpus_wanted;
    int64_t mem_bytes; /* on each GPU; 0: none in particular */
    bool exclusive;    /* the GPUs are shared with none */
    size_t gpu_count;  /* while it waits: those that it may get, 0: any; then those that it has */
    struct lease_gpu gpus[LEASE_GPUS_MAX];
    size_t setting_count;
    struct lease_setting settings[LEASE_SETTINGS_MAX];
    char ended_why[LEASE_WHY_SIZE]; /* "": it has not */
    /* Not in the file: */
    bool simulated;
    uint64_t file;          /* the one that it was read from: a lease that is written anew is in another */
    struct wall idle_since; /* of a reservation: nothing has run on it since; ms 0: it is in use, or that is not known */
};

const char *lease_kind_name(enum lease_kind kind);
const char *lease_state_name(enum lease_state state);

/* A new name: eight letters and digits. -errno: the kernel gives no random bytes. */
int lease_new_id(char id[LEASE_ID_SIZE]);
/* Such a name, and nothing else: it becomes a file's name. */
bool lease_id_valid(const char *id);
/* This user, this process (or none, with pid 0) and this moment. */
void lease_init(struct lease *l, enum lease_kind kind, int32_t pid, struct wall now);

void lease_json(struct json_writer *j, const struct lease *l);
/* -EBADMSG and a sentence when it is none that makes sense. */
int lease_from_json(const json_t *json, struct lease *ret, struct error *err);

/* Where it has that GPU: its place in `gpus`, else -1. */
int lease_gpu_at(const struct lease *l, const char *uuid);

/* "GPU 0", "GPUs 0, 1 and 3" */
enum { LEASE_WORDS = 160 };
const char *lease_gpu_words(const struct lease *l, char out[LEASE_WORDS]);
/* Who has it, for sentences: "alice (train.py)", "bob (\"paper deadline\")", "carol". */
const char *lease_holder_words(const struct lease *l, char out[LEASE_WORDS]);

/* When the process of that number began, in clock ticks since boot; 0: there is none, or it cannot be looked at. */
int64_t lease_process_start(int32_t pid);
/* Whether the kernel says that a process is that user's; true where it does not tell. */
bool lease_process_is_of(int32_t pid, uint32_t uid);
/* Whether the process that it is bound to is there: this one, and none that got its number later. */
bool lease_process_alive(const struct lease *l);
