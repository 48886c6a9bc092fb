/* SPDX-License-Identifier: Apache-2.0
 * Secrets and their replacements.
 */
#include "doctor/bundle.h"

#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { CONTAINER_DIGITS = 12, UUID_DIGITS = 8 }; /* UUID_DIGITS: in its first group */

static const char *stand_in_of(const struct privacy *p, const char *secret)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->list[i].secret, secret) == 0)
            return p->list[i].stand_in;
    return NULL;
}

static void redact_learn(struct privacy *p, const char *secret, const char *stand_in)
{
    /* Such short words have other meanings, too; replacing them would garble the text. */
    if (strlen(secret) < 2 || strlen(secret) >= SECRET_SIZE || p->count == SECRETS_MAX || stand_in_of(p, secret))
        return;
    str_copy(p->list[p->count].secret, SECRET_SIZE, str_from(secret));
    str_copy(p->list[p->count++].stand_in, SECRET_SIZE, str_from(stand_in));
}

static void learn_user(struct privacy *p, const char *name)
{
    char stand_in[32];
    /* A user without a name appears as a number, and numbers have other meanings, too. */
    if (!name || !name[0] || strcmp(name, "root") == 0 || strspn(name, "0123456789") == strlen(name) || stand_in_of(p, name))
        return;
    snprintf(stand_in, sizeof stand_in, "user%zu", ++p->users);
    redact_learn(p, name, stand_in);
}

/* Keeps the shape: all digits become zero except the last three, which count. */
static void learn_id(struct privacy *p, const char *id, size_t *counter)
{
    char stand_in[SECRET_SIZE], number[8];
    if (!id[0] || stand_in_of(p, id))
        return;
    str_copy(stand_in, sizeof stand_in, str_from(id));
    char *digits = strncmp(stand_in, "GPU-", 4) == 0 || strncmp(stand_in, "MIG-", 4) == 0 ? stand_in + 4 : stand_in;
    for (char *c = digits; *c; c++)
        if (isalnum((unsigned char)*c))
            *c = '0';
    size_t len = strlen(digits);
    snprintf(number, sizeof number, "%03zu", ++*counter % 1000);
    if (len >= 3)
        memcpy(digits + len - 3, number, 3);
    redact_learn(p, id, stand_in);
}

static void learn_gpu(struct privacy *p, const struct gpu *gpu)
{
    learn_id(p, gpu->id.uuid, &p->uuids);
    if (gpu->serial.state == READING_OK)
        learn_id(p, gpu->serial.value, &p->serials);
    for (size_t i = 0; i < gpu->process_count; i++) {
        char stand_in[32];
        const char *container = gpu->processes[i].container;
        learn_user(p, gpu->processes[i].user);
        if (!container[0] || stand_in_of(p, container))
            continue;
        snprintf(stand_in, sizeof stand_in, "container%zu", ++p->containers);
        redact_learn(p, container, stand_in);
    }
    for (size_t i = 0; i < gpu->instance_count; i++)
        learn_gpu(p, &gpu->instances[i]);
}

void privacy_learn(struct privacy *p, const struct snapshot *s)
{
    char short_name[HOST_NAME_SIZE];
    struct str rest = str_from(s->host.name), first;
    redact_learn(p, s->host.name, "host");
    if (str_cut(&rest, '.', &first)) {
        str_copy(short_name, sizeof short_name, first);
        redact_learn(p, short_name, "host");
    }
    const struct passwd *me = getpwuid(geteuid());
    learn_user(p, me ? me->pw_name : NULL);
    for (size_t i = 0; i < s->gpu_count; i++)
        learn_gpu(p, &s->gpus[i]);
    for (size_t i = 0; i < s->accelerator_count; i++)
        learn_gpu(p, &s->accelerators[i]);
}

static bool part_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t secret_at(const struct privacy *p, struct str text, size_t at)
{
    if (at > 0 && part_of_word(text.at[at - 1]))
        return SECRETS_MAX;
    size_t best = SECRETS_MAX, longest = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t len = strlen(p->list[i].secret);
        if (len <= longest || len > text.len - at || memcmp(text.at + at, p->list[i].secret, len) != 0)
            continue;
        if (at + len < text.len && part_of_word(text.at[at + len]))
            continue;
        best = i;
        longest = len;
    }
    return best;
}

void privacy_text(const struct privacy *p, struct buf *out, struct str text)
{
    if (p->off) {
        buf_str(out, text);
        return;
    }
    size_t plain = 0;
    for (size_t at = 0; at < text.len;) {
        size_t found = secret_at(p, text, at);
        if (found == SECRETS_MAX) {
            at++;
            continue;
        }
        buf_add(out, text.at + plain, at - plain);
        buf_text(out, p->list[found].stand_in);
        at += strlen(p->list[found].secret);
        plain = at;
    }
    buf_add(out, text.at + plain, text.len - plain);
}

static bool path_ends(const char *path, const char *end)
{
    return str_ends(str_from(path), end);
}

/* A number gets the same replacement in every file, and no two share one: they tell GPUs and containers apart. */
static uint64_t number_for(struct privacy *p, uint64_t number)
{
    for (size_t i = 0; i < p->number_count; i++)
        if (p->numbers[i] == number)
            return i + 1;
    if (p->number_count < NUMBERS_MAX)
        p->numbers[p->number_count++] = number;
    return p->number_count;
}

static void write_unique_id(struct privacy *p, struct str bytes, struct buf *out)
{
    char text[32], *end = text;
    str_copy(text, sizeof text, str_trim(bytes));
    uint64_t chip = strtoull(text, &end, 16);
    if (chip && !*end)
        buf_printf(out, "%016" PRIx64 "\n", number_for(p, chip));
    else
        buf_text(out, bytes.len ? "0\n" : "");
}

/* "name number" lines of the KFD topology. */
static void write_kfd_properties(struct privacy *p, struct str bytes, struct buf *out)
{
    struct str line, name, number;
    uint64_t chip;
    while (str_cut(&bytes, '\n', &line)) {
        struct str rest = line;
        if (str_word(&rest, &name) && str_is(name, "unique_id") && str_word(&rest, &number) && str_to_u64(number, &chip) && chip)
            buf_printf(out, "unique_id %" PRIu64 "\n", number_for(p, chip));
        else
            buf_printf(out, STR_FMT "\n", STR_ARG(line));
    }
}

static bool is_hex(struct str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (!isxdigit((unsigned char)word.at[i]))
            return false;
    return word.len > 0;
}

/* IDs of containers and pods: 64 hex digits, identified by the first 12, or a UUID with dashes or underscores. */
static void write_cgroup(struct privacy *p, struct str bytes, struct buf *out)
{
    AUTO_BUF struct buf text = BUF(65536);
    bool in_uuid = false;
    for (size_t i = 0, len; i < bytes.len; i += len) {
        for (len = 0; i + len < bytes.len && isalnum((unsigned char)bytes.at[i + len]); len++)
            ;
        if (len == 0) {
            in_uuid = in_uuid && (bytes.at[i] == '-' || bytes.at[i] == '_');
            buf_char(&text, bytes.at[i]);
            len = 1;
            continue;
        }
        struct str word = {bytes.at + i, len};
        size_t before = str_starts(word, "pod") ? 3 : 0;
        struct str id = {word.at + before, word.len - before};
        buf_add(&text, word.at, before);
        if (!is_hex(id) || (id.len < UUID_DIGITS && !(in_uuid && id.len == 4))) {
            buf_str(&text, id);
            continue;
        }
        char first[CONTAINER_DIGITS + 1];
        str_copy(first, sizeof first, id);
        int digits = (int)strlen(first);
        uint64_t number = id.len == 4 ? 0 : number_for(p, strtoull(first, NULL, 16));
        buf_printf(&text, "%0*" PRIx64, digits, number);
        for (size_t k = (size_t)digits; k < id.len; k++)
            buf_char(&text, '0');
        in_uuid = in_uuid || id.len == UUID_DIGITS;
    }
    privacy_text(p, out, buf_view(&text));
}

/* Keeps the program's name, drops its arguments. */
static void write_program(const struct privacy *p, struct str bytes, struct buf *out)
{
    size_t len = strnlen(bytes.at, bytes.len);
    const char *slash = len ? memrchr(bytes.at, '/', len) : NULL;
    const char *name = slash ? slash + 1 : bytes.at;
    privacy_text(p, out, (struct str){name, len - (size_t)(name - bytes.at)});
    buf_char(out, '\0');
}

/* Replaces files that are private as a whole; redacts the rest word by word. */
void privacy_file(struct privacy *p, const char *path, struct str bytes, struct buf *out)
{
    bool of_process = strncmp(path, "/proc/", 6) == 0 && isdigit((unsigned char)path[6]);
    struct str line;
    if (p->off) {
        buf_str(out, bytes);
    } else if (of_process && path_ends(path, "/cmdline")) {
        write_program(p, bytes, out);
    } else if (of_process && path_ends(path, "/cgroup")) {
        write_cgroup(p, bytes, out);
    } else if (path_ends(path, "/unique_id")) {
        write_unique_id(p, bytes, out);
    } else if (path_ends(path, "/properties") && strncmp(path, "/sys/", 5) == 0) {
        write_kfd_properties(p, bytes, out);
    } else if (path_ends(path, "/serial_number")) {
        for (size_t i = 0; i < bytes.len; i++)
            buf_char(out, isalnum((unsigned char)bytes.at[i]) ? '0' : bytes.at[i]);
    } else if (path_ends(path, "/mounts")) {
        while (str_cut(&bytes, '\n', &line))
            if (str_contains(line, " /proc proc "))
                buf_printf(out, STR_FMT "\n", STR_ARG(line));
    } else {
        privacy_text(p, out, bytes);
    }
}

static void clean(const struct privacy *p, char *text, size_t size)
{
    AUTO_BUF struct buf out = BUF(65536);
    privacy_text(p, &out, str_from(text));
    str_copy(text, size, buf_view(&out));
}

static void clean_process(const struct privacy *p, struct process *process)
{
    clean(p, process->name, sizeof process->name);
    clean(p, process->parent_name, sizeof process->parent_name);
    clean(p, process->user, sizeof process->user);
    clean(p, process->container, sizeof process->container);
    /* Diagnosing a GPU does not need a program's arguments. */
    str_copy(process->command, sizeof process->command, str_from(process->name));
    process->model[0] = process->title[0] = process->container_name[0] = process->job[0] = '\0';
}

static void clean_gpu(const struct privacy *p, struct gpu *gpu)
{
    clean(p, gpu->id.uuid, sizeof gpu->id.uuid);
    clean(p, gpu->error_message, sizeof gpu->error_message);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        clean(p, gpu->property[i].value, sizeof gpu->property[i].value);
    for (size_t i = 0; i < gpu->process_count; i++)
        clean_process(p, &gpu->processes[i]);
    for (size_t i = 0; i < gpu->instance_count; i++)
        clean_gpu(p, &gpu->instances[i]);
}

void privacy_snapshot(const struct privacy *p, struct snapshot *s)
{
    if (p->off)
        return;
    clean(p, s->host.name, sizeof s->host.name);
    clean(p, s->driver.error_message, sizeof s->driver.error_message);
    for (size_t i = 0; i < s->source_count; i++)
        clean(p, s->sources[i].message, sizeof s->sources[i].message);
    for (size_t i = 0; i < s->event_count; i++)
        clean(p, s->events[i].text, sizeof s->events[i].text);
    for (size_t i = 0; i < s->gpu_count; i++)
        clean_gpu(p, &s->gpus[i]);
    for (size_t i = 0; i < s->accelerator_count; i++)
        clean_gpu(p, &s->accelerators[i]);
}

/* ---- what is left ---- */

static size_t run_of(struct str s, size_t at, const char *extra)
{
    size_t len = 0;
    while (at + len < s.len && (isalnum((unsigned char)s.at[at + len]) || strchr(extra, s.at[at + len])))
        len++;
    return len;
}

/* Four numbers up to 255, or six pairs of hex digits. */
static bool is_network_address(struct str word)
{
    size_t parts = 0;
    bool pairs = true, numbers = true;
    struct str rest = word, part;
    const char mark = word.len && memchr(word.at, ':', word.len) ? ':' : '.';
    while (str_cut(&rest, mark, &part)) {
        uint64_t value = 256;
        pairs = pairs && part.len == 2 && is_hex(part);
        numbers = numbers && part.len <= 3 && str_to_u64(part, &value) && value < 256;
        parts++;
    }
    return (mark == '.' && parts == 4 && numbers) || (mark == ':' && parts == 6 && pairs);
}

static bool is_home(struct str line, size_t at)
{
    static const char *const homes[] = {"/home/", "/Users/"};
    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        size_t len = strlen(homes[i]);
        struct str rest = {line.at + at, line.len - at};
        if (str_starts(rest, homes[i]) && rest.len > len && strncmp(rest.at + len, "user", MIN_OF(rest.len - len, (size_t)4)) != 0)
            return true;
    }
    return false;
}

const char *privacy_suspect(struct str line)
{
    for (size_t at = 0; at < line.len; at++) {
        struct str rest = {line.at + at, line.len - at};
        if (is_home(line, at))
            return "a home directory";
        if (str_starts(rest, "://"))
            return "a URL";
        if (line.at[at] == '@' && at && isalnum((unsigned char)line.at[at - 1])) {
            struct str domain = {line.at + at + 1, run_of(line, at + 1, ".-")};
            if (memchr(domain.at, '.', domain.len) && !str_ends(domain, ".service") && !str_ends(domain, ".slice") &&
                !str_ends(domain, ".scope"))
                return "an e-mail address";
        }
        if (at && (isalnum((unsigned char)line.at[at - 1]) || strchr(".:", line.at[at - 1])))
            continue;
        struct str word = {line.at + at, run_of(line, at, ".:")};
        if (is_network_address(word))
            return "a network address";
    }
    return NULL;
}
