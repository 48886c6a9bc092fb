/* SPDX-License-Identifier: Apache-2.0
 * The files of the history of checks.
 */
#include "check/check_history.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/keep.h"
#include "base/os/shared.h"
#include "check/check_record.h"
#include "config/places.h"

enum { HISTORY_BYTES = 4 << 20, STATE_BYTES = 4096 };

static void path_of(const char *folder, const struct gpu_id *id, const char *ending, char path[PLACE_SIZE])
{
    char name[GPU_UUID_SIZE + GPU_PCI_SIZE];
    snprintf(name, sizeof name, "%s", gpu_id_key(id));
    keep_path(folder, name, ending, path, PLACE_SIZE);
}

/* The directory this user writes to. */
static int folder_to_write(char path[PLACE_SIZE], struct error *err)
{
    bool system = geteuid() == 0;
    char state[PLACE_SIZE];
    int rc = system ? 0 : place_state(state, err);
    if (rc == 0)
        rc = place_checks(system, path, err);
    return rc < 0 ? rc : shared_dir_make(path, system ? 0755 : 0700, err);
}

/* Directories this user reads, the system's first. What only root may write is believed only if no other user could. */
static bool folder_to_read(bool system, char path[PLACE_SIZE])
{
    struct error ignored;
    struct stat st;
    return place_checks(system, path, &ignored) == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && !(st.st_mode & 022) &&
           (st.st_uid == geteuid() || (system && st.st_uid == 0));
}

static json_t *read_json(const char *path)
{
    AUTO_BUF struct buf text = BUF(STATE_BYTES);
    struct error ignored;
    return keep_read(path, &text, &ignored) == 0 ? json_loadb(buf_view(&text).at, text.len, 0, NULL) : NULL;
}

size_t check_history(const struct gpu_id *id, struct check_run **ret)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE];
    size_t count = 0, capacity = 0;
    struct check_run *list = NULL;
    for (int system = 1; system >= (geteuid() == 0 ? 1 : 0); system--) {
        AUTO_BUF struct buf text = BUF(HISTORY_BYTES);
        struct error ignored;
        if (!folder_to_read(system, folder))
            continue;
        path_of(folder, id, ".jsonl", path);
        struct str rest = keep_read(path, &text, &ignored) == 0 ? buf_view(&text) : STR(""), line;
        while (str_cut(&rest, '\n', &line)) {
            json_t *json = json_loadb(line.at, line.len, 0, NULL);
            if (ROOM_FOR_ONE(list, count, capacity, 8) && check_run_read(json, &list[count]))
                count++;
            json_decref(json);
        }
    }
    *ret = list;
    return count;
}

static int append_run(const char *folder, const struct gpu_id *id, const struct check_run *run, struct error *err)
{
    char path[PLACE_SIZE];
    AUTO_BUF struct buf text = BUF(HISTORY_BYTES);
    AUTO_BUF struct buf out = BUF(HISTORY_BYTES);
    struct error ignored;
    path_of(folder, id, ".jsonl", path);
    struct str rest = keep_read(path, &text, &ignored) == 0 ? buf_view(&text) : STR("");
    size_t lines = 0;
    for (size_t i = 0; i < rest.len; i++)
        lines += rest.at[i] == '\n';
    struct str line;
    for (; lines >= CHECK_HISTORY_MAX; lines--)
        str_cut(&rest, '\n', &line);
    buf_str(&out, rest);
    answer_write(JSON_LINE(&out), &check_run_answer, run, NULL);
    int rc = buf_check(&out, err, "the history of checks is too long");
    return rc < 0 ? rc : keep_write_as(path, buf_view(&out), geteuid() == 0 ? 0644 : 0600, err);
}

/* A failure stays until a clean check of at least its level; a check that could not judge changes nothing. */
static bool replaces(const struct check_run *run, const json_t *before)
{
    if (run->verdict == CHECK_IS_NOT_JUDGED)
        return false;
    return run->verdict != CHECK_IS_HEALTHY || !before ||
           json_integer_value(json_object_get(before, "verdict")) == CHECK_IS_HEALTHY ||
           (int)run->level >= json_integer_value(json_object_get(before, "level"));
}

static int keep_state(const char *folder, const struct gpu_id *id, const struct check_run *run, struct error *err)
{
    char path[PLACE_SIZE], at[WALL_TEXT_SIZE];
    path_of(folder, id, ".state", path);
    AUTO_JSON json_t *before = read_json(path);
    bool replace = replaces(run, before);
    if (!replace)
        return 0;
    AUTO_BUF struct buf out = BUF(STATE_BYTES);
    struct json_writer j = JSON_WRITER(&out);
    wall_format(run->at, at);
    jw_object(&j);
    jw_key_text(&j, "at", at);
    jw_key_int(&j, "level", run->level);
    jw_key_int(&j, "verdict", run->verdict);
    jw_key_text(&j, "words", run->words);
    jw_end(&j);
    return keep_write_as(path, buf_view(&out), geteuid() == 0 ? 0644 : 0600, err);
}

int check_keep(const struct check_run *run, const struct gpu_id *id, struct error *err)
{
    char folder[PLACE_SIZE];
    int rc = folder_to_write(folder, err);
    if (rc == 0)
        rc = append_run(folder, id, run, err);
    return rc < 0 ? rc : keep_state(folder, id, run, err);
}

void check_mark(const struct gpu_id *id, int32_t pid, struct wall until)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE], text[128];
    struct error ignored;
    if (folder_to_write(folder, &ignored) < 0)
        return;
    path_of(folder, id, ".running", path);
    if (until.ms == 0) {
        unlink(path);
        return;
    }
    int len = snprintf(text, sizeof text, "{\"pid\":%d,\"until\":%lld}", pid, (long long)until.ms);
    keep_write_as(path, (struct str){text, (size_t)len}, geteuid() == 0 ? 0644 : 0600, &ignored);
}

static void show_one(const char *folder, struct gpu *gpu, struct wall now)
{
    char path[PLACE_SIZE];
    path_of(folder, &gpu->id, ".state", path);
    AUTO_JSON json_t *state = access(path, R_OK) == 0 ? read_json(path) : NULL;
    struct wall at = json_moment(state, "at");
    json_int_t level = json_integer_value(json_object_get(state, "level")),
               verdict = json_integer_value(json_object_get(state, "verdict"));
    if (at.ms > gpu->check.at.ms && level >= 0 && level < CHECK_LEVEL_COUNT && verdict >= 0 && verdict < CHECK_VERDICT_COUNT) {
        gpu->check.at = at;
        gpu->check.level = (int)level;
        gpu->check.verdict = (int)verdict;
        json_copy_text(state, "words", gpu->check.words, sizeof gpu->check.words);
    }
    path_of(folder, &gpu->id, ".running", path);
    json_t *running = access(path, R_OK) == 0 ? read_json(path) : NULL;
    json_int_t pid = json_integer_value(json_object_get(running, "pid"));
    if (pid > 0 && pid <= INT32_MAX && json_integer_value(json_object_get(running, "until")) > now.ms &&
        (kill((pid_t)pid, 0) == 0 || errno == EPERM))
        gpu->check.running = (int32_t)pid;
    json_decref(running);
}

void check_show(struct snapshot *s)
{
    char folder[PLACE_SIZE];
    for (int system = 1; system >= 0; system--)
        for (size_t i = 0; (system || geteuid() != 0) && folder_to_read(system, folder) && i < s->gpu_count; i++)
            if (!s->gpus[i].simulated && (s->gpus[i].id.uuid[0] || s->gpus[i].id.pci_address[0]))
                show_one(folder, &s->gpus[i], s->taken_at);
}
