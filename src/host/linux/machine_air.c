/* SPDX-License-Identifier: Apache-2.0
 * Ambient temperature: sensors labeled as such (a server's intake, a workstation's ambient), or a thermometer on a wire.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

enum { AIR_INPUTS = 16, AIR_LEAST_MDEGC = -20000, AIR_MAX_MDEGC = 60000 };

static bool says_air(struct str text)
{
    static const char *const words[] = {"ambient", "inlet", "intake"};
    char label[64];
    str_copy(label, sizeof label, text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(label, words[i]))
            return true;
    return false;
}

static bool text_of(const struct env *env, const char *path, char *text, size_t size, struct str *ret)
{
    ssize_t len = file_read_head(env, path, text, size);
    *ret = str_trim((struct str){text, len > 0 ? (size_t)len : 0});
    return ret->len > 0;
}

static void find_sensor(struct machine *m)
{
    AUTO_DIR DIR *dir = dir_open(m->window.env, "/sys/class/hwmon");
    int error = errno;
    m->air[0] = '\0';
    for (struct dirent *entry; dir && (entry = readdir(dir)) && !m->air[0];) {
        char path[PATH_SIZE], text[64];
        struct str said;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/sys/class/hwmon/%s/name", entry->d_name);
        bool wire = text_of(m->window.env, path, text, sizeof text, &said) && str_is(said, "w1_slave_temp");
        for (int i = 1; i <= AIR_INPUTS && !m->air[0]; i++) {
            snprintf(path, sizeof path, "/sys/class/hwmon/%s/temp%d_label", entry->d_name, i);
            if (!(wire && i == 1) && (!text_of(m->window.env, path, text, sizeof text, &said) || !says_air(said)))
                continue;
            snprintf(path, sizeof path, "/sys/class/hwmon/%s/temp%d_input", entry->d_name, i);
            if (strlen(path) < sizeof m->air && file_exists(m->window.env, path))
                str_copy(m->air, sizeof m->air, str_from(path));
        }
    }
    m->air_known = dir || is_gone(-error);
}

void machine_read_air(struct machine *m, struct host *out)
{
    int64_t mdegc;
    if (!m->air_known)
        find_sensor(m);
    out->ambient_temp_mdegc = reading_absent(m->air[0] ? READING_FAILED : READING_UNSUPPORTED);
    if (m->air[0] && file_read_i64(m->window.env, m->air, &mdegc) == 0 && mdegc > AIR_LEAST_MDEGC && mdegc < AIR_MAX_MDEGC)
        out->ambient_temp_mdegc = reading_ok(mdegc);
}
