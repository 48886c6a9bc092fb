/* SPDX-License-Identifier: Apache-2.0
 * The token file, roles and their rights.
 */
#include "http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/keep.h"
#include "base/os/words.h"

/* ---- roles ---- */

static const struct {
    const char *name;
    enum right right; /* granted only by this role and `admin` */
    unsigned rights;
} role_table[] = {
    {"read", RIGHT_READ, RIGHT_READ},
    {"commands", RIGHT_COMMANDS, RIGHT_READ | RIGHT_COMMANDS},
    {"silence", RIGHT_SILENCE, RIGHT_READ | RIGHT_SILENCE},
    {"guard", RIGHT_GUARD, RIGHT_READ | RIGHT_GUARD},
    {"control", RIGHT_CONTROL, RIGHT_READ | RIGHT_CONTROL},
    {"admin", RIGHT_ADMIN, RIGHTS_ALL},
};

int rights_parse(struct str text, unsigned *ret, struct error *err)
{
    struct str name;
    *ret = 0;
    while (str_cut(&text, ',', &name)) {
        unsigned rights = 0;
        for (size_t i = 0; i < ARRAY_LEN(role_table); i++)
            if (str_is(str_trim(name), role_table[i].name))
                rights = role_table[i].rights;
        if (!rights)
            return error_set(err, -EINVAL,
                             "'%.*s' is not a role; expected read, commands, silence, guard, control or admin, "
                             "or several of them with commas",
                             (int)name.len, name.at);
        *ret |= rights;
    }
    return *ret ? 0 : error_set(err, -EINVAL, "a token needs a role: read, commands, silence, guard, control or admin");
}

const char *rights_roles(unsigned rights, char text[ROLES_SIZE])
{
    text[0] = '\0';
    for (size_t i = ARRAY_LEN(role_table); i-- > 0;) {
        bool implied = role_table[i].right == RIGHT_READ && text[0];
        if ((rights & role_table[i].rights) != role_table[i].rights || implied)
            continue;
        size_t len = strlen(text);
        snprintf(text + len, ROLES_SIZE - len, "%s%s", len ? "," : "", role_table[i].name);
        if (role_table[i].right == RIGHT_ADMIN)
            break;
    }
    return text;
}

const char *right_role(enum right right)
{
    for (size_t i = 0; i < ARRAY_LEN(role_table); i++)
        if (role_table[i].right == right)
            return role_table[i].name;
    return "admin";
}

bool right_acts(enum right right)
{
    return right > RIGHT_COMMANDS;
}

/* ---- tokens ---- */

enum { TOKEN_BYTES = 32, FILE_MAX = 64 * 1024 };
#define TOKEN_PREFIX "whirr_" /* lets scanners for leaked secrets recognize it */

static bool name_is_fine(struct str name)
{
    if (name.len == 0 || name.len >= TOKEN_NAME_SIZE)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-_.@", c))))
            return false;
    }
    return true;
}

static bool parse_line(struct str line, struct access_token *ret)
{
    struct str name, day, digest, roles, until;
    *ret = (struct access_token){.rights = RIGHTS_ALL};
    if (!str_word(&line, &name) || !str_word(&line, &day) || !str_word(&line, &digest) || !name_is_fine(name) ||
        !wall_parse(day, &ret->made_at) || !hex_decode(digest, ret->digest, sizeof ret->digest))
        return false;
    str_copy(ret->name, sizeof ret->name, name);
    if (str_word(&line, &roles) && rights_parse(roles, &ret->rights, NULL) < 0)
        return false;
    return !str_word(&line, &until) || (str_is(until, "until") && wall_parse(str_trim(line), &ret->until));
}

static int parse(struct token_file *f, struct str text, struct error *err)
{
    struct str line;
    size_t count = 0;
    for (int number = 1; str_cut(&text, '\n', &line); number++) {
        line = str_trim(line);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (count == TOKENS_MAX)
            return error_set(err, -E2BIG, "%s has more than %d tokens", f->path, TOKENS_MAX);
        if (!parse_line(line, &f->tokens[count]))
            return error_set(err, -EINVAL, "%s:%d: not a token line (NAME TIME SHA256 ROLES [until TIME])", f->path, number);
        count++;
    }
    f->count = count;
    return 0;
}

int token_file_load(struct token_file *f, const char *path, struct error *err)
{
    *f = (struct token_file){.path = path};
    if (!path)
        return 0;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : error_set(err, -errno, "cannot read the tokens in '%s': %s", path, strerror(errno));
    struct stat st;
    char text[FILE_MAX];
    ssize_t len = fstat(fd, &st) ? -1 : read(fd, text, sizeof text);
    if (len < 0)
        return error_set(err, -errno, "cannot read the tokens in '%s': %s", path, strerror(errno));
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, -EPERM, "'%s' can be written by others than its owner; run: " WORD_HIDE("%s"), path, path);
    f->changed = st.st_mtim;
    f->inode = st.st_ino;
    return parse(f, (struct str){text, (size_t)len}, err);
}

static void report_changes(const struct token_file *before, const struct token_file *now, token_changed *changed, void *user)
{
    for (size_t i = 0; i < before->count; i++)
        if (!token_file_find(now, before->tokens[i].digest))
            changed(user, &before->tokens[i], "removed");
    for (size_t i = 0; i < now->count; i++) {
        const struct access_token *t = &now->tokens[i], *old = token_file_find(before, t->digest);
        if (!old)
            changed(user, t, "added");
        else if (old->rights != t->rights || old->until.ms != t->until.ms)
            changed(user, t, "changed");
    }
}

void token_file_refresh(struct token_file *f, token_changed *changed, void *user)
{
    struct stat st;
    if (!f->path)
        return;
    bool there = stat(f->path, &st) == 0;
    if (there && st.st_ino == f->inode && st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec)
        return;
    if (!there && f->inode == 0)
        return;
    struct token_file fresh;
    /* If the file is unreadable, keep the old tokens: a mistake must not lock everyone out (or let anyone in). */
    if (token_file_load(&fresh, f->path, NULL) < 0)
        return;
    if (changed)
        report_changes(f, &fresh, changed, user);
    *f = fresh;
}

const struct access_token *token_file_find(const struct token_file *f, const uint8_t digest[SHA256_SIZE])
{
    const struct access_token *found = NULL;
    for (size_t i = 0; i < f->count; i++)
        if (digest_equal(digest, f->tokens[i].digest, SHA256_SIZE))
            found = &f->tokens[i];
    return found;
}

const struct access_token *token_file_check(const struct token_file *f, struct str token)
{
    uint8_t digest[SHA256_SIZE];
    sha256(token, digest);
    return token_file_find(f, digest);
}

/* Root may run this for a daemon with its own user: keep the owner of the old file, or of its directory. */
static int give_to_owner(void *user, int fd, const char *fresh, struct error *err)
{
    const char *path = user;
    struct stat old;
    bool known = stat(path, &old) == 0;
    if (!known && strrchr(path, '/')) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
        known = stat(folder, &old) == 0;
    }
    if (known && geteuid() == 0 && fchown(fd, old.st_uid, old.st_gid))
        return error_set(err, -errno, "cannot give '%s' to its owner: %s", fresh, strerror(errno));
    return 0;
}

static int save(struct token_file *f, struct error *err)
{
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    for (size_t i = 0; i < f->count; i++) {
        char day[WALL_TEXT_SIZE], roles[ROLES_SIZE], digest[HEX_SIZE(SHA256_SIZE)];
        wall_format(f->tokens[i].made_at, day);
        hex_encode(f->tokens[i].digest, SHA256_SIZE, digest);
        buf_printf(&text, "%s %s %s %s", f->tokens[i].name, day, digest, rights_roles(f->tokens[i].rights, roles));
        wall_format(f->tokens[i].until, day);
        if (f->tokens[i].until.ms)
            buf_printf(&text, " until %s", day);
        buf_char(&text, '\n');
    }
    return text.failed ? error_set(err, -ENOMEM, "out of memory")
                       : keep_write_ready(f->path, buf_view(&text), give_to_owner, (void *)f->path, err);
}

int token_file_add(struct token_file *f, const char *name, const struct token_grant *grant, char text[TOKEN_TEXT_SIZE],
                   struct error *err)
{
    if (!name_is_fine(str_from(name)))
        return error_set(err, -EINVAL, "'%s' is not a valid token name; expected letters, digits and - _ . @ only, at most %d",
                         name, TOKEN_NAME_SIZE - 1);
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->tokens[i].name, name) == 0)
            return error_set(err, -EEXIST, "there is already a token '%s'", name);
    if (f->count == TOKENS_MAX)
        return error_set(err, -E2BIG, "there are %d tokens already; remove one first", TOKENS_MAX);
    uint8_t secret[TOKEN_BYTES];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return error_set(err, -EIO, "no random numbers: %s", strerror(errno));
    memcpy(text, TOKEN_PREFIX, sizeof TOKEN_PREFIX);
    hex_encode(secret, sizeof secret, text + sizeof TOKEN_PREFIX - 1);
    struct access_token *t = &f->tokens[f->count++];
    *t = (struct access_token){.made_at = grant->now, .until = grant->until, .rights = grant->rights};
    str_copy(t->name, sizeof t->name, str_from(name));
    sha256(str_from(text), t->digest);
    return save(f, err);
}

int token_file_remove(struct token_file *f, const char *name, struct error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->tokens[i].name, name) != 0)
            continue;
        memmove(&f->tokens[i], &f->tokens[i + 1], (f->count - i - 1) * sizeof f->tokens[0]);
        f->count--;
        return save(f, err);
    }
    return error_set(err, -ENOENT, "there is no token '%s'", name);
}
