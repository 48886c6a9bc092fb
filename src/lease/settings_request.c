/* SPDX-License-Identifier: Apache-2.0
 * Converts requests to and from JSON, and the command's side of the socket.
 */
#include "lease/settings_request.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "config/config.h"

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

int helper_ask_fd(int fd, const struct request *r, struct lease *ret, int *ret_fd, struct error *err)
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
