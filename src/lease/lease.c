/* SPDX-License-Identifier: Apache-2.0
 * What a lease is, in words and in JSON.
 */
#include "lease/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/file.h"
#include "host/identity.h"

static const char *const kind_names[] = {"run", "wait", "reserve", "setting"};
static const char *const state_names[] = {"waiting", "active", "ended"};

const char *lease_kind_name(enum lease_kind kind)
{
    return kind_names[kind];
}

const char *lease_state_name(enum lease_state state)
{
    return state_names[state];
}

/* ---- identity and time ---- */

enum { ID_LETTERS = 8 };
static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789z"; /* 32 letters without lookalikes */

int lease_new_id(char id[LEASE_ID_SIZE])
{
    unsigned char bytes[ID_LETTERS];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return errno ? -errno : -EIO;
    for (size_t i = 0; i < sizeof bytes; i++)
        id[i] = letters[bytes[i] % 32];
    id[ID_LETTERS] = '\0';
    return 0;
}

bool lease_id_valid(const char *id)
{
    return strlen(id) == ID_LETTERS && strspn(id, letters) == ID_LETTERS;
}

int64_t lease_process_start(int32_t pid)
{
    struct env here;
    env_init_system(&here);
    return process_start(&here, pid);
}

static void read_boot(char boot[LEASE_BOOT_SIZE])
{
    char text[64];
    struct env here;
    env_init_system(&here);
    ssize_t len = file_read_head(&here, "/proc/sys/kernel/random/boot_id", text, sizeof text);
    str_copy(boot, LEASE_BOOT_SIZE, str_trim((struct str){text, len > 0 ? (size_t)len : 0}));
}

bool lease_process_is_of(int32_t pid, uint32_t uid)
{
    char path[PATH_SIZE];
    struct env here;
    struct stat process, all;
    env_init_system(&here);
    if (env_path(&here, path, "/proc/self") < 0 || stat(path, &all) < 0)
        return true; /* the system doesn't say */
    return pid > 0 && env_path(&here, path, "/proc/%d", (int)pid) == 0 && stat(path, &process) == 0 && process.st_uid == uid;
}

bool lease_process_alive(const struct lease *l)
{
    char boot[LEASE_BOOT_SIZE];
    read_boot(boot);
    return l->pid > 0 && l->start_key && strcmp(boot, l->boot) == 0 && lease_process_start(l->pid) == l->start_key;
}

void lease_init(struct lease *l, enum lease_kind kind, int32_t pid, struct wall now)
{
    struct env here;
    env_init_system(&here);
    *l = (struct lease){.kind = kind, .state = LEASE_ACTIVE, .uid = geteuid(), .pid = pid, .made = now, .from = now};
    struct users *users = users_new(&here);
    if (users)
        users_name(users, l->uid, l->user, sizeof l->user);
    users_free(users);
    read_boot(l->boot);
    l->start_key = pid ? lease_process_start(pid) : 0;
}

int lease_gpu_at(const struct lease *l, const char *uuid)
{
    for (size_t i = 0; i < l->gpu_count; i++)
        if (strcmp(l->gpus[i].uuid, uuid) == 0)
            return (int)i;
    return -1;
}

/* ---- words ---- */

bool lease_is_about(const struct lease *l, const struct gpu *gpu)
{
    const char *uuid = gpu_id_key(&gpu->id);
    bool found = l->state == LEASE_WAITING && l->kind != LEASE_SETTING && l->gpu_count == 0;
    for (size_t i = 0; i < l->gpu_count && !found; i++)
        found = strcmp(l->gpus[i].uuid, uuid) == 0 || (l->gpus[i].index == gpu->index && l->simulated == gpu->simulated);
    for (size_t i = 0; i < l->setting_count && !found; i++)
        found = strcmp(l->settings[i].gpu, uuid) == 0;
    return found;
}

const char *lease_gpu_words(const struct lease *l, char out[LEASE_WORDS])
{
    size_t at = (size_t)snprintf(out, LEASE_WORDS, "%s", l->gpu_count == 1 ? "GPU" : l->gpu_count ? "GPUs" : "any GPU");
    for (size_t i = 0; i < l->gpu_count && at < LEASE_WORDS - 24; i++)
        at += (size_t)snprintf(out + at, LEASE_WORDS - at, "%s%d",
                               i == 0                  ? " "
                               : i + 1 == l->gpu_count ? " and "
                                                       : ", ",
                               l->gpus[i].index);
    return out;
}

const char *lease_holder_words(const struct lease *l, char out[LEASE_WORDS])
{
    struct str command = str_from(l->command), program;
    if (l->note[0])
        snprintf(out, LEASE_WORDS, "%s (\"%.100s\")", l->user, l->note);
    else if (str_word(&command, &program)) {
        const char *slash = memrchr(program.at, '/', program.len);
        struct str name = slash ? (struct str){slash + 1, program.len - (size_t)(slash + 1 - program.at)} : program;
        snprintf(out, LEASE_WORDS, "%s (%.*s)", l->user, (int)MIN_OF(name.len, (size_t)64), name.at);
    } else
        snprintf(out, LEASE_WORDS, "%s", l->user);
    return out;
}

/* ---- as JSON ---- */

ANSWER_NAMES(kinds, enum lease_kind, lease_kind_name, LEASE_RUN, LEASE_SETTING);
ANSWER_NAMES(states, enum lease_state, lease_state_name, LEASE_WAITING, LEASE_ENDED);

ANSWER_TABLE(gpu_answer, struct lease_gpu)
{
    FIELD(TEXT, "uuid", uuid, NULL);
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(OPTION, "free_bytes", free_bytes, "What programs without a lease left when it was given", WHOLE);
    FIELD(READING, "used_bytes", used_bytes, "What its programs hold now", WHOLE);
}

ANSWER_TABLE(setting_answer, struct lease_setting)
{
    FIELD(TEXT, "what", what, "The setting, which implies its unit");
    FIELD(TEXT, "gpu", gpu, "UUID of the GPU");
    FIELD(TEXT, "step", step, "How far it is: written, done, active, restored");
    FIELD(OPTION, "asked", asked, "null: the driver's default, or a text", WHOLE);
    FIELD(OPTION, "before", before, "What it was, and will be again", WHOLE);
    FIELD(OPTION, "least", least, "Range of the GPU", WHOLE);
    FIELD(OPTION, "most", most, NULL, WHOLE);
    FIELD(TEXT, "asked_text", asked_text, "Of a setting that is not a number", OR_NULL);
    FIELD(TEXT, "before_text", before_text, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(lease_answer, struct lease, .name = "Lease")
{
    FIELD(TEXT, "id", id, NULL);
    FIELD(NAME, "kind", kind, NULL, NAMES(kinds));
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(INT, "uid", uid, NULL);
    FIELD(TEXT, "user", user, NULL);
    FIELD(INT, "pid", pid, "The process that it lives with", OR_NULL);
    FIELD(INT, "start_key", start_key, "Start of that process in clock ticks since boot");
    FIELD(TEXT, "boot", boot, "The boot of the host in which that process runs");
    FIELD(TEXT, "command", command, NULL, OR_NULL);
    FIELD(TEXT, "note", note, NULL, OR_NULL);
    FIELD(MOMENT, "made", made, NULL);
    FIELD(MOMENT, "from", from, NULL);
    FIELD(MOMENT, "until", until, "null: its end is open", OR_NULL);
    FIELD(INT, "ticket", ticket, "Its place in the queue: the smaller first");
    FIELD(INT, "gpus_wanted", gpus_wanted, NULL);
    FIELD(INT, "memory_bytes", mem_bytes, "On each GPU; 0: whole GPUs");
    FIELD(BOOL, "exclusive", exclusive, NULL);
    OBJECTS("gpus", gpus, gpu_count, gpu_answer, "What it has; while it waits, what it may get (none: any)");
    OBJECTS("settings", settings, setting_count, setting_answer, NULL);
    FIELD(TEXT, "ended_why", ended_why, NULL, OR_NULL);
    FIELD(MOMENT, "idle_since", idle_since, "Of a reservation on which nothing has run for `lease.idle_minutes`", OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
}

void lease_json(struct json_writer *j, const struct lease *l)
{
    answer_write(j, &lease_answer, l, NULL);
}

/* Impossible contents, which others must not rely on. */
static const char *nonsense(const struct lease *l)
{
    if (!lease_id_valid(l->id))
        return "its id is none";
    if (l->uid < 0 || l->uid > UINT32_MAX)
        return "it names no user";
    if (l->pid < 0 || l->mem_bytes < 0 || l->mem_bytes > (int64_t)1 << 50 || l->gpus_wanted < 0 ||
        l->gpus_wanted > LEASE_GPUS_MAX || l->ticket < 0 || l->ticket > LEASE_TICKET_MAX)
        return "a number in it is out of range";
    if (!l->made.ms || !l->from.ms || (l->until.ms && l->until.ms < l->from.ms))
        return "its times make no sense";
    if (l->state == LEASE_ACTIVE && l->kind != LEASE_SETTING && !l->gpu_count)
        return "it has no GPU";
    for (size_t i = 0; i < l->gpu_count; i++)
        if (!l->gpus[i].uuid[0] || l->gpus[i].index < -1 || l->gpus[i].index >= GPU_MAX)
            return "one of its GPUs is none";
    return NULL;
}

int lease_from_json(const json_t *json, struct lease *ret, struct error *err)
{
    struct lease l = {.uid = -1};
    const char *key;
    if (!json_is_string(json_object_get(json, "kind")) || !json_is_string(json_object_get(json, "state")))
        return error_set(err, -EBADMSG, "it is of an unknown kind");
    if (!answer_read(&lease_answer, json, &l, &key))
        return error_set(err, -EBADMSG, "its '%s' makes no sense", key);
    const char *wrong = nonsense(&l);
    if (wrong)
        return error_set(err, -EBADMSG, "%s", wrong);
    *ret = l;
    return 0;
}
