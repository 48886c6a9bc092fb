/* SPDX-License-Identifier: Apache-2.0
 * What a command asks of whirr-control: changes as they are planned, requests to and from JSON, the command's side of the socket,
 * and leases of GPUs where whirr-control decides about them (lease_broker.h).
 */
#include "lease/control_request.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/os/net.h"
#include "base/os/shared.h"
#include "config/config.h"
#include "lease/lease_dir.h"

enum { ANSWER_MS = 30000, ANSWER_MAX = 128 * 1024, GROUPS_MAX = 1024 };

static const char *const ops[] = {"set", "stock", "confirm", "end", "ready", "begin", "commit"};

static const struct {
    const char *name;
    int rc;
} codes[] = {{"denied", -EPERM}, {"taken", -EAGAIN}, {"busy", -EBUSY}, {"none", -ENOENT}, {"too_many", -EDQUOT}, {"full", -ENOSPC}};

const char *request_code(int rc)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].rc == rc)
            return codes[i].name;
    return codes[0].name;
}

static int rc_of(const char *code)
{
    size_t i = NAME_FIND(codes, str_from(code));
    return i < ARRAY_LEN(codes) ? codes[i].rc : -EPERM;
}

void control_socket(char path[CONTROL_SOCKET_SIZE])
{
    const char *named = env_variable("WHIRR_CONTROL_SOCKET"), *root = env_variable(CONFIG_SYSTEM_ROOT);
    snprintf(path, CONTROL_SOCKET_SIZE, "%s%s", named || !root ? "" : root, named ? named : "/run/whirr-control.sock");
}

static void request_write(const struct request *r, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    char until[WALL_TEXT_SIZE];
    jw_object(&j);
    jw_key_text(&j, "op", ops[r->op]);
    jw_key_text(&j, "id", r->id);
    jw_key_bool(&j, "hold", r->hold);
    jw_key_text(&j, "command", r->command);
    if (r->until.ms) {
        wall_format(r->until, until);
        jw_key_text(&j, "until", until);
    }
    if (r->op == REQUEST_COMMIT) {
        jw_key(&j, "lease");
        lease_json(&j, &r->lease);
    }
    jw_key_array(&j, "settings");
    for (size_t i = 0; i < r->count; i++) {
        const struct request_setting *s = &r->settings[i];
        jw_object(&j);
        jw_key_text(&j, "gpu", s->gpu);
        jw_key_int(&j, "gpu_index", s->gpu_index);
        jw_key_text(&j, "what", control_name(s->kind));
        jw_key_bool(&j, "stock", s->value.stock);
        jw_key_int(&j, "low", s->value.low);
        jw_key_int(&j, "high", s->value.high);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}

static int read_setting(const json_t *json, struct request_setting *ret, struct error *err)
{
    const json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    json_int_t index = json_integer_value(json_object_get(json, "gpu_index"));
    json_copy_text(json, "gpu", ret->gpu, sizeof ret->gpu);
    if (!control_from_name(json_text(json, "what"), &ret->kind) || !ret->gpu[0] || index < 0 || index >= GPU_MAX)
        return error_set(err, -EBADMSG, "a setting without a known name or GPU");
    ret->gpu_index = (int)index;
    ret->value = (struct control_value){.stock = json_is_true(json_object_get(json, "stock"))};
    if (ret->value.stock)
        return 0;
    if (!json_is_integer(low) || !json_is_integer(high))
        return error_set(err, -EBADMSG, "a setting without a value");
    ret->value.low = json_integer_value(low);
    ret->value.high = json_integer_value(high);
    return 0;
}

static int read_fields(const json_t *json, struct request *ret, struct error *err)
{
    const char *op = json_text(json, "op");
    size_t i, known = 0;
    json_t *one;
    while (known < ARRAY_LEN(ops) && strcmp(ops[known], op) != 0)
        known++;
    if (known == ARRAY_LEN(ops))
        return error_set(err, -EBADMSG, "an unknown request");
    *ret = (struct request){
        .op = (enum request_op)known, .until = json_moment(json, "until"), .hold = json_is_true(json_object_get(json, "hold"))};
    const json_t *until = json_object_get(json, "until");
    if (until && !json_is_null(until) && ret->until.ms <= 0)
        return error_set(err, -EBADMSG, "its end is not a time to come"); /* 1970, or an invalid time, doesn't mean "no end" */
    json_copy_text(json, "id", ret->id, sizeof ret->id);
    json_copy_text(json, "command", ret->command, sizeof ret->command);
    json_array_foreach(json_object_get(json, "settings"), i, one)
    {
        if (ret->count == REQUEST_SETTINGS_MAX)
            return error_set(err, -EBADMSG, "more than %d settings at once", REQUEST_SETTINGS_MAX);
        int rc = read_setting(one, &ret->settings[ret->count++], err);
        if (rc < 0)
            return rc;
    }
    bool needs_id = ret->op == REQUEST_CONFIRM || ret->op == REQUEST_END || ret->op == REQUEST_BEGIN;
    if (ret->op == REQUEST_READY)
        return 0;
    if (ret->op == REQUEST_COMMIT)
        return lease_from_json(json_object_get(json, "lease"), &ret->lease, err);
    if (needs_id ? !lease_id_valid(ret->id) : ret->count == 0)
        return error_set(err, -EBADMSG, needs_id ? "no lease is named" : "there is nothing to set");
    return 0;
}

int request_read(struct str text, struct request *ret, struct error *err)
{
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, NULL);
    return json_is_object(json) ? read_fields(json, ret, err) : error_set(err, -EBADMSG, "not a JSON object");
}

/* ---- the command's side ---- */

bool control_may(const struct config *config)
{
    char path[CONTROL_SOCKET_SIZE];
    const struct group *wanted;
    gid_t groups[GROUPS_MAX];
    int count;
    if (geteuid() == 0)
        return true;
    control_socket(path);
    if (!config->control.allow || access(path, W_OK) < 0 || !(wanted = getgrnam(config->control.group)))
        return false;
    count = getgroups(GROUPS_MAX, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == wanted->gr_gid)
            return true;
    return getegid() == wanted->gr_gid;
}

int helper_connect(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    control_socket(to.sun_path);
    const struct timeval within = {.tv_sec = ANSWER_MS / MS_PER_S}; /* connecting waits, too, while it serves others */
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, (const char *)&within, sizeof within) < 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        return -errno;
    int connected = fd;
    fd = -1;
    return connected;
}

/* Reads a line byte by byte, so that nothing after it is consumed. */
static int read_line(int fd, struct buf *out, int within_ms, int *passed)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        char byte;
        int ready = poll(&wait, 1, within_ms);
        if (ready <= 0)
            return ready == 0 ? -ETIMEDOUT : -errno;
        ssize_t got = passed ? helper_receive(fd, &byte, passed) : read(fd, &byte, 1);
        if (got <= 0)
            return got == 0 ? -EPIPE : -errno;
        if (byte == '\n')
            return 0;
        buf_char(out, byte);
        if (out->failed)
            return -EFBIG;
    }
}

static int take_answer(const json_t *json, struct lease *ret, char words[SETTINGS_WORDS], struct error *err)
{
    const json_t *lease = json_object_get(json, "lease");
    if (!json_is_true(json_object_get(json, "ok")))
        return error_set(err, rc_of(json_text(json, "code")), "%s",
                         json_text(json, "error")[0] ? json_text(json, "error") : "the helper does not answer");
    json_copy_text(json, "words", words, SETTINGS_WORDS);
    return json_is_object(lease) && ret ? lease_from_json(lease, ret, err) : 0;
}

static int ask(int fd, const struct request *r, struct lease *ret, char words[SETTINGS_WORDS], int *passed, struct error *err)
{
    AUTO_BUF struct buf line = BUF(REQUEST_MAX), answer = BUF(ANSWER_MAX);
    request_write(r, &line);
    /* A full one has answered and hung up: what it said is still to be read. */
    if (line.failed || (send(fd, line.at, line.len, MSG_NOSIGNAL) != (ssize_t)line.len && errno != EPIPE && errno != ECONNRESET))
        return error_set(err, -EPIPE, "the helper whirr-control does not take the request");
    int rc = read_line(fd, &answer, ANSWER_MS, passed);
    if (rc < 0)
        return error_set(err, rc, "the helper whirr-control does not answer: %s", strerror(-rc));
    AUTO_JSON json_t *json = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
    rc = take_answer(json, ret, words, err);
    return rc;
}

int helper_ask(int fd, const struct request *r, struct lease *ret, char words[SETTINGS_WORDS], struct error *err)
{
    return ask(fd, r, ret, words, NULL, err);
}

static int helper_ask_fd(int fd, const struct request *r, struct lease *ret, int *ret_fd, struct error *err)
{
    char words[SETTINGS_WORDS];
    *ret_fd = -1;
    int rc = ask(fd, r, ret, words, ret_fd, err);
    if (rc < 0 && *ret_fd >= 0) {
        close(*ret_fd);
        *ret_fd = -1;
    }
    return rc;
}

int helper_ended(int fd, char why[SETTINGS_WORDS])
{
    AUTO_BUF struct buf line = BUF(ANSWER_MAX);
    int rc = read_line(fd, &line, ANSWER_MS, NULL);
    if (rc < 0)
        return -EPIPE;
    AUTO_JSON json_t *json = json_loadb(line.at ? line.at : "", line.len, 0, NULL);
    json_copy_text(json, "ended", why, SETTINGS_WORDS);
    return 0;
}

/* ---- leases of GPUs ---- */

/* A connection to whirr-control, or -errno. */
static int link_service(void)
{
    uid_t owner;
    int fd = helper_connect();
    if (fd >= 0 && (!net_peer_user(fd, &owner) || !shared_owner_trusted(owner))) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

int lease_service_ready(struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_CLOSE int link = r ? link_service() : -ENOMEM;
    if (link == -ENOENT || link == -ECONNREFUSED || link == -EPERM || link == -EACCES || link == -ENOSYS)
        return 0;
    if (link < 0)
        return error_set(err, link, "whirr-control, which decides about GPUs, can't be reached: %s", strerror(-link));
    r->op = REQUEST_READY;
    int passed, rc = helper_ask_fd(link, r, NULL, &passed, err);
    return rc == 0 || rc == -EBUSY ? 1 : rc == -EPERM ? 0 : rc == -ECONNRESET ? -EPIPE : rc; /* busy: it is there */
}

/* All its places are taken for a moment, or it is being started again: what was begun before is to be begun anew (-EPIPE). */
int lease_service_ask(struct lease_dir *d, enum request_op op, const char *id, struct lease *l, int *ret_fd, struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    r->op = op;
    str_copy(r->id, sizeof r->id, str_from(id));
    if (l)
        r->lease = *l;
    enum { PAUSE_MS = 20, WITHIN_MS = 30000 };
    struct mono begin = clock_mono(&clock_system);
    int none;
    bool begun = d->link >= 0;
    for (;;) {
        if (d->link < 0)
            d->link = link_service();
        int rc = d->link < 0 ? error_set(err, d->link, "whirr-control can't be reached: %s", strerror(-d->link))
                             : helper_ask_fd(d->link, r, l, ret_fd ? ret_fd : &none, err);
        bool keep = rc == 0 && op == REQUEST_BEGIN;
        if (!keep && d->link >= 0) {
            close(d->link);
            d->link = -1;
        }
        bool again = rc == -EBUSY || rc == -EPIPE || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -ENOENT;
        if (rc == -ENOENT && op == REQUEST_END)
            return rc; /* there is no such lease */
        if (again && begun)
            return -EPIPE;
        if (!again || mono_since_ms(clock_mono(&clock_system), begin) >= WITHIN_MS)
            return rc;
        poll(NULL, 0, PAUSE_MS);
    }
}

/* ---- changes, planned but not made: the current values are read, and the new ones checked against the GPU's range ---- */

void change_list_done(struct change_list *l)
{
    control_close(&l->set);
}

static int add_change(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err)
{
    const char *key = gpu_id_key(&gpu->id);
    struct change c = {.gpu = control_find(&l->set, key), .draw_mw = gpu->power_mw};
    if (!c.gpu)
        return error_set(err, -EOPNOTSUPP, "GPU %d has no settings that whirr can change", gpu->index);
    c.setting = (struct request_setting){.gpu_index = gpu->index, .kind = kind};
    str_copy(c.setting.gpu, sizeof c.setting.gpu, str_from(key));
    int rc = control_look(c.gpu, kind, &c.state, err);
    c.denied = rc == -EACCES;
    if (rc < 0 && !c.denied)
        return error_prefix(err, "GPU %d", gpu->index);
    rc = text ? control_parse(kind, text, &c.state, &c.setting.value, err)
         : control_quiet(kind, &c.state, gpu->power_mw, &c.setting.value) ? 0
                                                                          : -ENOENT;
    if (rc == 0 && l->count == REQUEST_SETTINGS_MAX)
        return error_set(err, -E2BIG, "more than %d settings at once; choose a GPU with --gpu", REQUEST_SETTINGS_MAX);
    if (rc == 0)
        l->at[l->count++] = c;
    return rc == -ERANGE ? error_prefix(err, "GPU %d", gpu->index) : rc;
}

int plan_setting(struct change_list *l, const struct gpu *gpu, enum control_kind kind, const char *text, struct error *err)
{
    int rc = add_change(l, gpu, kind, text, err);
    /* Some GPUs have levels instead of clocks. */
    if (rc == -EOPNOTSUPP && kind == CONTROL_CLOCKS && add_change(l, gpu, CONTROL_LEVEL, text, NULL) == 0)
        return 0;
    return rc;
}

int plan_quiet(struct change_list *l, const struct gpu *gpu, struct error *err)
{
    size_t before = l->count;
    struct error why = {0};
    int rc = add_change(l, gpu, CONTROL_POWER, NULL, &why);
    (void)add_change(l, gpu, CONTROL_ACOUSTIC, NULL, NULL);
    if (l->count > before)
        return 0;
    return rc == -ENOENT ? error_set(err, rc, "GPU %d is as quiet as its settings can make it", gpu->index)
                         : error_set(err, rc, "%s", why.text);
}
