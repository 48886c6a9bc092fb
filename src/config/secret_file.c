/* SPDX-License-Identifier: Apache-2.0
 * Secrets that stand in files of their own: KEY_file for every KEY that is secret, and credentials of systemd, which are named like
 * settings ("push.central.token"). Read with the configuration, also on a reload.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "config/loader.h"

enum { SECRET_FILE_MAX = 64 << 10 };

const struct setting *loader_secret_of(const struct section *section, struct str key)
{
    if (!str_ends(key, "_file"))
        return NULL;
    key.len -= strlen("_file");
    const struct setting *s = section_setting(section, key);
    return s && s->flags & SECRET ? s : NULL;
}

/* A name without a slash is a credential. False, and why: there are none. */
static bool find_file(const struct loader *l, const char *named, char path[PATH_SIZE], char why[WHY_SIZE])
{
    const char *folder = loader_variable(l->inputs, "CREDENTIALS_DIRECTORY");
    if (path_is_whole(named)) {
        snprintf(path, PATH_SIZE, "%s", named);
    } else if (strchr(named, '/')) {
        snprintf(why, WHY_SIZE, "write the whole path, or the name of a credential of systemd");
        return false;
    } else if (!folder) {
        snprintf(why, WHY_SIZE, "a name without a slash is a credential of systemd (LoadCredential=), and there are none here");
        return false;
    } else {
        snprintf(path, PATH_SIZE, "%s/%s", folder, named);
    }
    return true;
}

void loader_read_secret(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s,
                        const char *named, const struct config_origin *origin)
{
    AUTO_BUF struct buf text = BUF(SECRET_FILE_MAX);
    char path[PATH_SIZE], why[WHY_SIZE];
    struct env here = *l->inputs->env;
    here.sysroot = "";
    struct config_origin at = {CONFIG_FROM_FILE, arena_copy(l->arena, str_from(named)), 0, 0};
    /* What can't be read has its default. */
    l->out_of_memory |= !value_from_text(s, str_from(s->fallback), l->arena, setting_at(entry, s), why);
    if (!find_file(l, named, path, why)) {
        if (!l->inputs->forgiving)
            problem_add(l->problems, false, origin, "%s.%s_file = '%s': %s", section->path, s->key, named, why);
        l->out_of_memory |= !at.where;
        *loader_origin(section, entry, s) = at;
        return;
    }
    at.where = arena_copy(l->arena, str_from(path));
    int rc = file_read_all(&here, path, &text);
    if (!at.where || rc == -ENOMEM) {
        l->out_of_memory = true;
        return;
    }
    *loader_origin(section, entry, s) = at;
    /* A command of another user does not need what the daemon sends. */
    if (rc == -EACCES && l->inputs->forgiving)
        return;
    if (rc < 0) {
        problem_add(l->problems, false, origin, "cannot read %s.%s from '%s': %s", section->path, s->key, path,
                    rc == -EFBIG ? "larger than 64 KiB" : strerror(-rc));
        return;
    }
    struct str value = str_trim(buf_view(&text));
    if (!value.len || memchr(value.at, '\n', value.len))
        problem_add(l->problems, false, origin, "'%s' must hold %s.%s alone, in one line", path, section->path, s->key);
    else if (!value_from_text(s, value, l->arena, setting_at(entry, s), why))
        problem_add(l->problems, false, origin, "bad value of %s.%s in '%s': %s", section->path, s->key, path, why);
}

/* LoadCredential=push.central.token:/etc/keys/central sets that setting without a word in the file. */
void loader_read_credentials(struct loader *l)
{
    const char *folder = loader_variable(l->inputs, "CREDENTIALS_DIRECTORY");
    for (size_t i = 0; folder && i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(l->config, section); e++) {
            struct config_entry *entry = section_entry(l->config, section, e);
            for (size_t k = 0; k < section->count; k++) {
                char name[CONFIG_KEY_SIZE], path[PATH_SIZE];
                const struct setting *s = &section->settings[k];
                if (!(s->flags & SECRET) || (section->kind != SECTION_PLAIN && !entry->name[0]))
                    continue;
                snprintf(name, sizeof name, "%s%s%s.%s", section->path, entry->name[0] ? "." : "", entry->name, s->key);
                snprintf(path, sizeof path, "%s/%s", folder, name);
                if (!strchr(name, '/') && access(path, F_OK) == 0)
                    loader_read_secret(l, section, entry, s, name, &(struct config_origin){CONFIG_FROM_FILE, path, 0, 0});
            }
        }
    }
}
