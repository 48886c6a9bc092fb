/* SPDX-License-Identifier: Apache-2.0
 * Converts leases to and from JSON.
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
#include "base/json_reader.h"
#include "base/units.h"
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

static bool find_name(const char *const *names, size_t count, const char *name, int *ret)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = (int)i;
            return true;
        }
    return false;
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

/* ---- writing ---- */

static void put_moment(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    jw_key(j, key);
    if (at.ms)
        wall_format(at, text);
    jw_text(j, at.ms ? text : NULL);
}

static void put_reading(struct json_writer *j, const char *key, struct reading r)
{
    jw_key(j, key);
    if (r.state == READING_OK)
        jw_int(j, r.value);
    else
        jw_null(j);
}

static void put_text(struct json_writer *j, const char *key, const char *text)
{
    jw_key_text(j, key, text[0] ? text : NULL);
}

static void put_gpus(struct json_writer *j, const struct lease *l)
{
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < l->gpu_count; i++) {
        const struct lease_gpu *gpu = &l->gpus[i];
        jw_object(j);
        jw_key_text(j, "uuid", gpu->uuid);
        jw_key_int(j, "gpu_index", gpu->index);
        put_reading(j, "free_bytes", gpu->free_bytes);
        put_reading(j, "used_bytes", gpu->used_bytes);
        jw_end(j);
    }
    jw_end(j);
}

static void put_settings(struct json_writer *j, const struct lease *l)
{
    jw_key_array(j, "settings");
    for (size_t i = 0; i < l->setting_count; i++) {
        const struct lease_setting *s = &l->settings[i];
        jw_object(j);
        jw_key_text(j, "what", s->what);
        jw_key_text(j, "gpu", s->gpu);
        jw_key_text(j, "step", s->step);
        put_reading(j, "asked", s->asked);
        put_reading(j, "before", s->before);
        put_reading(j, "least", s->least);
        put_reading(j, "most", s->most);
        put_text(j, "asked_text", s->asked_text);
        put_text(j, "before_text", s->before_text);
        jw_end(j);
    }
    jw_end(j);
}

void lease_json(struct json_writer *j, const struct lease *l)
{
    jw_object(j);
    jw_key_text(j, "id", l->id);
    jw_key_text(j, "kind", lease_kind_name(l->kind));
    jw_key_text(j, "state", lease_state_name(l->state));
    jw_key_int(j, "uid", l->uid);
    jw_key_text(j, "user", l->user);
    put_reading(j, "pid", l->pid ? reading_ok(l->pid) : reading_absent(READING_UNSUPPORTED));
    jw_key_int(j, "start_key", l->start_key);
    jw_key_text(j, "boot", l->boot);
    put_text(j, "command", l->command);
    put_text(j, "note", l->note);
    put_moment(j, "made", l->made);
    put_moment(j, "from", l->from);
    put_moment(j, "until", l->until);
    jw_key_int(j, "ticket", l->ticket);
    jw_key_int(j, "gpus_wanted", l->gpus_wanted);
    jw_key_int(j, "memory_bytes", l->mem_bytes);
    jw_key_bool(j, "exclusive", l->exclusive);
    put_gpus(j, l);
    put_settings(j, l);
    put_text(j, "ended_why", l->ended_why);
    put_moment(j, "idle_since", l->idle_since);
    jw_key_bool(j, "simulated", l->simulated);
    jw_end(j);
}

/* ---- reading ---- */

static struct reading read_number(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_integer(value) ? reading_ok(json_integer_value(value)) : reading_absent(READING_UNREAD);
}

/* NULL or missing: none. An invalid time, or 1970, doesn't mean "no end". */
static bool read_moment(const json_t *json, const char *key, struct wall *ret)
{
    const json_t *value = json_object_get(json, key);
    *ret = json_moment(json, key);
    return !value || json_is_null(value) || ret->ms > 0;
}

/* An integer up to `most`; -1: none. */
static int32_t read_small(const json_t *json, const char *key, int32_t most)
{
    json_int_t value = json_integer_value(json_object_get(json, key));
    return value >= 0 && value <= most ? (int32_t)value : -1;
}

/* False: more than a lease can have. */
static bool read_gpus(const json_t *json, struct lease *l)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(json, "gpus"), i, one)
    {
        struct lease_gpu *gpu = &l->gpus[l->gpu_count];
        if (l->gpu_count == LEASE_GPUS_MAX)
            return false;
        json_copy_text(one, "uuid", gpu->uuid, sizeof gpu->uuid);
        gpu->index = (int)reading_or(read_number(one, "gpu_index"), -1);
        gpu->free_bytes = read_number(one, "free_bytes");
        gpu->used_bytes = read_number(one, "used_bytes");
        l->gpu_count++;
    }
    return true;
}

static bool read_settings(const json_t *json, struct lease *l)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(json, "settings"), i, one)
    {
        struct lease_setting *s = &l->settings[l->setting_count];
        if (l->setting_count == LEASE_SETTINGS_MAX)
            return false;
        json_copy_text(one, "what", s->what, sizeof s->what);
        json_copy_text(one, "gpu", s->gpu, sizeof s->gpu);
        json_copy_text(one, "step", s->step, sizeof s->step);
        json_copy_text(one, "asked_text", s->asked_text, sizeof s->asked_text);
        json_copy_text(one, "before_text", s->before_text, sizeof s->before_text);
        s->asked = read_number(one, "asked");
        s->before = read_number(one, "before");
        s->least = read_number(one, "least");
        s->most = read_number(one, "most");
        l->setting_count++;
    }
    return true;
}

/* Impossible contents, which others must not rely on. */
static const char *nonsense(const struct lease *l)
{
    if (!lease_id_valid(l->id))
        return "its id is none";
    if (l->uid < 0 || l->uid > UINT32_MAX)
        return "it names no user";
    if (l->pid < 0 || l->mem_bytes < 0 || l->mem_bytes > (int64_t)1 << 50 || l->gpus_wanted < 0 || l->ticket < 0 ||
        l->ticket > LEASE_TICKET_MAX)
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
    struct lease l = {0};
    int kind, state;
    if (!find_name(kind_names, ARRAY_LEN(kind_names), json_text(json, "kind"), &kind) ||
        !find_name(state_names, ARRAY_LEN(state_names), json_text(json, "state"), &state))
        return error_set(err, -EBADMSG, "it is of an unknown kind");
    l.kind = (enum lease_kind)kind;
    l.state = (enum lease_state)state;
    json_copy_text(json, "id", l.id, sizeof l.id);
    json_copy_text(json, "user", l.user, sizeof l.user);
    json_copy_text(json, "boot", l.boot, sizeof l.boot);
    json_copy_text(json, "command", l.command, sizeof l.command);
    json_copy_text(json, "note", l.note, sizeof l.note);
    json_copy_text(json, "ended_why", l.ended_why, sizeof l.ended_why);
    l.uid = reading_or(read_number(json, "uid"), -1);
    l.pid = read_small(json, "pid", INT32_MAX);
    l.start_key = reading_or(read_number(json, "start_key"), 0);
    bool whole = read_moment(json, "made", &l.made) && read_moment(json, "from", &l.from) && read_moment(json, "until", &l.until);
    l.idle_since = json_moment(json, "idle_since");
    l.ticket = reading_or(read_number(json, "ticket"), 0);
    l.gpus_wanted = read_small(json, "gpus_wanted", LEASE_GPUS_MAX);
    l.mem_bytes = reading_or(read_number(json, "memory_bytes"), 0);
    l.exclusive = json_is_true(json_object_get(json, "exclusive"));
    l.simulated = json_is_true(json_object_get(json, "simulated"));
    const char *wrong = !whole                                             ? "its times make no sense"
                        : !read_gpus(json, &l) || !read_settings(json, &l) ? "it has too many GPUs or settings"
                                                                           : nonsense(&l);
    if (wrong)
        return error_set(err, -EBADMSG, "%s", wrong);
    *ret = l;
    return 0;
}
