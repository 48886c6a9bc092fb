/* SPDX-License-Identifier: Apache-2.0
 * A lease: something held or changed for a time or for a program, recorded before it takes effect and undone at its end.
 *
 *   run       GPUs or memory on them, for a program: lives as long as the program
 *   wait      memory granted by `whirr wait`, for a short time until it is used
 *   reserve   GPUs or memory on them for a user, between two moments
 *   setting   a power limit, clocks, a fan: changed until its end, then restored
 *
 * Plain data and its JSON, which is the same in a lease's file and in the API. lease_dir.h stores leases, lease_assign.h decides
 * who gets memory.
 */
#pragma once

#include "answer/answer.h"
#include "base/clock.h"
#include "base/error.h"
#include "model/gpu.h"

enum {
    LEASE_GPUS_MAX = 64,
    LEASE_SETTINGS_MAX = 16,
    LEASE_NOTE_SIZE = 160,
    LEASE_BOOT_SIZE = 40,
    LEASE_WHY_SIZE = 96,
    LEASE_BYTES_MAX = 64 * 1024, /* of a file */
};
#define LEASE_TICKET_MAX ((int64_t)1 << 53) /* all higher ones are equal */

enum lease_kind { LEASE_RUN, LEASE_WAIT, LEASE_RESERVE, LEASE_SETTING };
enum lease_state { LEASE_WAITING, LEASE_ACTIVE, LEASE_ENDED };

struct lease_gpu {
    char uuid[GPU_UUID_SIZE];  /* of a MIG instance, its own; the PCI address if there is none */
    int index;                 /* of the card at that time; for people */
    struct reading free_bytes; /* of kind wait: what others had left free when it was granted */
    struct reading used_bytes; /* held by its programs now; not in the file */
};

/* A value of one GPU, changed until the end of the lease. */
struct lease_setting {
    char what[32]; /* "power_limit", ...: implies its unit */
    char gpu[GPU_UUID_SIZE];
    char step[16];                        /* progress: "written", "done", "active", "restored" */
    struct reading asked, before;         /* absent: the driver's default ("auto", "stock") */
    struct reading least, most;           /* the card's range */
    char asked_text[32], before_text[32]; /* for settings that aren't numbers */
};

struct lease {
    char id[LEASE_ID_SIZE];
    enum lease_kind kind;
    enum lease_state state;
    int64_t uid;
    char user[PROCESS_USER_SIZE];
    int32_t pid;       /* the process it is bound to; 0: none */
    int64_t start_key; /* identifies that process together with pid and boot */
    char boot[LEASE_BOOT_SIZE];
    char command[PROCESS_COMMAND_SIZE]; /* secrets masked; "" none */
    char note[LEASE_NOTE_SIZE];
    struct wall made, from, until; /* until: ms 0 is open-ended */
    int64_t ticket;                /* position in the queue: lower first */
    int gpus_wanted;
    int64_t mem_bytes; /* on each GPU; 0: unspecified */
    bool exclusive;    /* GPUs not shared with others */
    size_t gpu_count;  /* while waiting: the allowed GPUs, 0: any; then the granted ones */
    struct lease_gpu gpus[LEASE_GPUS_MAX];
    size_t setting_count;
    struct lease_setting settings[LEASE_SETTINGS_MAX];
    char ended_why[LEASE_WHY_SIZE]; /* "": it hasn't ended */
    /* Not in the file: */
    bool simulated;
    uint64_t file;          /* inode of its file: rewriting a lease creates another */
    struct wall idle_since; /* of a reservation: nothing has run on it since; ms 0: in use, or unknown */
};

const char *lease_kind_name(enum lease_kind kind);
const char *lease_state_name(enum lease_state state);

/* A new ID: eight letters and digits. -errno: the kernel has no random bytes. */
int lease_new_id(char id[LEASE_ID_SIZE]);
/* A valid ID: it becomes a file name. */
bool lease_id_valid(const char *id);
/* Initializes with this user, this process (pid 0: none) and this moment. */
void lease_init(struct lease *l, enum lease_kind kind, int32_t pid, struct wall now);

extern const struct answer lease_answer;
void lease_json(struct json_writer *j, const struct lease *l);
/* -EBADMSG with a sentence if invalid. */
int lease_from_json(const json_t *json, struct lease *ret, struct error *err);

/* Index of that GPU in `gpus`, or -1. */
int lease_gpu_at(const struct lease *l, const char *uuid);

/* "GPU 0", "GPUs 0, 1 and 3" */
enum { LEASE_WORDS = 160 };
/* Whether it holds something of that GPU, or may get it. */
bool lease_is_about(const struct lease *l, const struct gpu *gpu);
const char *lease_gpu_words(const struct lease *l, char out[LEASE_WORDS]);
/* The holder, for sentences: "alice (train.py)", "bob (\"paper deadline\")", "carol". */
const char *lease_holder_words(const struct lease *l, char out[LEASE_WORDS]);

/* Start of the process, in clock ticks since boot; 0: none, or not accessible. */
int64_t lease_process_start(int32_t pid);
/* Whether the kernel says that the process belongs to that user; true if it doesn't say. */
bool lease_process_is_of(int32_t pid, uint32_t uid);
/* Whether the process it is bound to still exists, and isn't another with the same PID. */
bool lease_process_alive(const struct lease *l);
