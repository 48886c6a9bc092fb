/* SPDX-License-Identifier: Apache-2.0
 * Hosts that are gone on purpose. PostgreSQL keeps them for all its readers; for databases of metrics, this host
 * keeps a list: who forgot which host when, one line for each act, the newest last.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/keep.h"
#include "base/os/shared.h"
#include "config/places.h"
#include "fleet/fleet.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"
#include "store/fleet_queries.h"

enum { LIST_MAX = 4 << 20, METRICS_MAX = 16 << 20 };

/* A dot in front of its name: GPUs name the other files there. */
static void list_path(char path[PLACE_SIZE])
{
    str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/.fleet.jsonl"));
}

/* By the machine, where both are known: a name may be another host's by now. */
static bool is_it(const struct fleet_note *n, const char *host, const char *machine)
{
    return n->machine[0] && machine[0] ? strcmp(n->machine, machine) == 0 : strcmp(n->host, host) == 0;
}

void fleet_take_forgotten(struct fleet *f, const char *host, const char *machine, const char *by, int64_t ago_ms, bool undo)
{
    for (size_t i = 0; i < f->note_count; i++) {
        struct fleet_note *n = &f->notes[i];
        if (!n->silent || !is_it(n, host, machine))
            continue;
        n->forgotten_ms = undo || (n->silent_ms && n->silent_ms < ago_ms) ? 0 : MAX_OF(ago_ms, (int64_t)1);
        str_copy_clean(n->forgotten_by, sizeof n->forgotten_by, str_from(by));
    }
}

static void read_list(json_t *acts, const char *path)
{
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    struct error ignored;
    struct stat st;
    if (lstat(path, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()) || keep_read(path, &text, &ignored) < 0)
        return;
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line))
        json_array_append_new(acts, json_loadb(line.at, line.len, 0, NULL));
}

/* What root wrote counts for all users of this host, then what this user wrote. Returns the number of lists. */
static size_t list_paths(char paths[FORGOTTEN_LISTS][PLACE_SIZE])
{
    struct error ignored;
    size_t count = 0;
    for (int system = 1; system >= (geteuid() == 0 ? 1 : 0); system--)
        if (place_checks(system, paths[count], &ignored) == 0)
            list_path(paths[count++]);
    return count;
}

/* The caller's. */
static json_t *read_lists(void)
{
    char paths[FORGOTTEN_LISTS][PLACE_SIZE];
    size_t count = list_paths(paths);
    json_t *acts = json_array();
    for (size_t i = 0; i < count; i++)
        read_list(acts, paths[i]);
    return acts;
}

static void write_forgotten(struct buf *out)
{
    json_t *acts = read_lists(), *last = json_object(), *act;
    const char *host;
    size_t i;
    json_array_foreach(acts, i, act) json_object_set(last, json_text(act, "host"), act);
    if (json_object_size(last))
        prometheus_head(out, "whirr_host_forgotten_timestamp_seconds", "gauge",
                        "When a host was accepted as gone (whirr fleet forget); 0: it is expected again");
    json_object_foreach(last, host, act)
    {
        bool undo = json_is_true(json_object_get(act, "undo"));
        buf_text(out, "whirr_host_forgotten_timestamp_seconds{");
        prometheus_label(out, true, "forgotten", host);
        buf_printf(out, "} %lld\n", undo ? 0LL : (long long)(json_moment(act, "at").ms / MS_PER_S));
    }
    json_decref(last);
    json_decref(acts);
}

void fleet_forgotten_metrics(struct forgotten_metrics *kept, struct buf *out)
{
    char paths[FORGOTTEN_LISTS][PLACE_SIZE];
    struct forgotten_metrics now = {.text = BUF(METRICS_MAX)};
    size_t count = list_paths(paths);
    struct stat st;
    for (size_t i = 0; i < count; i++)
        if (lstat(paths[i], &st) == 0)
            now.lists[i] = (struct forgotten_list){(int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec, st.st_size};
    if (memcmp(now.lists, kept->lists, sizeof now.lists) != 0) {
        write_forgotten(&now.text);
        buf_done(&kept->text);
        *kept = now;
    }
    buf_str(out, buf_view(&kept->text));
}

bool fleet_any_silent(const struct fleet *f)
{
    for (size_t i = 0; i < f->note_count; i++)
        if (f->notes[i].silent)
            return true;
    return false;
}

void fleet_leave_out(struct fleet *f, const struct fleet_place *place)
{
    if (!fleet_any_silent(f))
        return;
    json_t *acts = fleet_is_sql(place) ? NULL : read_lists(), *act;
    size_t at;
    json_array_foreach(acts, at, act)
        fleet_take_forgotten(f, json_text(act, "host"), json_text(act, "machine"), json_text(act, "by"),
                             f->at.ms - json_moment(act, "at").ms, json_is_true(json_object_get(act, "undo")));
    json_decref(acts);
    for (size_t i = 0; i < f->note_count; i++)
        f->notes[i].silent &= !f->notes[i].forgotten_ms;
}

static int append_act(const struct fleet_place *place, const struct fleet_note *n, const char *by, bool undo, struct error *err)
{
    AUTO_BUF struct buf line = BUF(4 * HOST_NAME_SIZE);
    bool system = geteuid() == 0;
    char path[PLACE_SIZE], at[WALL_TEXT_SIZE];
    int rc = system ? 0 : place_state(path, err);
    if (rc == 0)
        rc = place_checks(system, path, err);
    if (rc == 0)
        rc = shared_dir_make(path, system ? 0755 : 0700, err);
    if (rc < 0)
        return rc;
    list_path(path);
    buf_char(&line, '\n'); /* ends a line that a full disk cut off */
    struct json_writer j = JSON_WRITER(&line);
    jw_object(&j);
    wall_format(clock_wall(place->env->clock), at);
    jw_key_text(&j, "at", at);
    jw_key_text(&j, "host", n->host);
    jw_key_text(&j, "machine", n->machine);
    jw_key_text(&j, "by", by);
    jw_key_bool(&j, "undo", undo);
    jw_end(&j);
    buf_char(&line, '\n');
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, system ? 0644 : 0600);
    if (fd < 0 || line.failed || write(fd, line.at, line.len) != (ssize_t)line.len || fsync(fd) < 0)
        return error_set(err, -errno, "can't write %s", path);
    return 0;
}

/* The host that is meant, or why there is none. */
static const struct fleet_note *find(const struct fleet *f, const char *host, bool undo, struct error *err)
{
    for (size_t i = 0; i < f->note_count; i++)
        if (strcmp(f->notes[i].host, host) == 0 && (undo ? f->notes[i].forgotten_ms > 0 : f->notes[i].silent))
            return &f->notes[i];
    if (undo)
        error_set(err, -ENOENT, "no forgotten host is called '%s'; `whirr fleet forget` lists them", host);
    else if (fleet_has_gpus(f, host))
        error_set(err, -EBUSY, "%s answers; only a host that does not can be forgotten", host);
    else
        error_set(err, -ENOENT, "no host that does not answer is called '%s'; `whirr fleet forget` lists them", host);
    return NULL;
}

int fleet_forget(const struct fleet_place *place, struct fleet *f, const char *host, bool undo, bool dry, const char *by,
                 const struct fleet_note **ret, struct error *err)
{
    *ret = find(f, host, undo, err);
    if (!*ret)
        return err->code;
    if (dry)
        return 0;
    return fleet_is_sql(place) ? all_hosts_forget(place->env, place->url, (*ret)->host, by, undo, err)
                               : append_act(place, *ret, by, undo, err);
}
