/* SPDX-License-Identifier: Apache-2.0
 * Programs of this host by what people call them, whether they are on a GPU or not.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/wait/wait.h"
#include "host/identity.h"
#include "host/procfs.h"

enum { CMDLINE_SIZE = 16 * 1024 };

static struct str base_name(struct str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.at[i - 1] == '/' || path.at[i - 1] == '\\') /* Wine and Proton show paths of Windows */
            return (struct str){path.at + i, path.len - i};
    return path;
}

/* Run what is named next, and have no title of their own. */
static const char *const runners[] = {"sh", "bash", "dash", "zsh", "wine", "wine64", "wine-preloader", "wine64-preloader"};

/* Its title (script, module, game), and whether that or its file is called so. Without `asked` any is. */
static bool is_called(const struct env *env, const char *pid, const char *asked, char *title, size_t size)
{
    char path[64], text[CMDLINE_SIZE], directory[256];
    struct str args[ARGUMENTS_MAX];
    snprintf(path, sizeof path, "/proc/%.16s/cmdline", pid);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    size_t count = len > 0 ? proc_arguments((struct str){text, (size_t)len}, args, ARGUMENTS_MAX) : 0;
    if (count == 0)
        return false;
    snprintf(path, sizeof path, "/proc/%.16s/cwd", pid);
    len = file_read_link(env, path, directory, sizeof directory);
    command_title(args, count, (struct str){directory, len > 0 ? (size_t)len : 0}, title, size);
    struct str program = base_name(args[0]);
    for (size_t i = 0; count > 1 && i < ARRAY_LEN(runners); i++)
        if (str_is(program, runners[i])) {
            program = base_name(args[1]);
            break;
        }
    if (!title[0])
        str_copy(title, size, program);
    return !asked || str_is_any_case(str_from(title), asked) || str_is_any_case(program, asked);
}

size_t programs_called(const struct env *env, const char *asked, struct program_found *ret, size_t max)
{
    size_t count = 0;
    int64_t number;
    if (str_to_i64(str_from(asked), &number)) {
        if (number < 1 || number > INT32_MAX || !max || !is_called(env, asked, NULL, ret->name, sizeof ret->name))
            return 0;
        ret->pid = (int32_t)number;
        return 1;
    }
    AUTO_DIR DIR *dir = dir_open(env, "/proc");
    for (const struct dirent *e; dir && count < max && (e = readdir(dir));)
        if (str_to_i64(str_from(e->d_name), &number) && number != getpid() &&
            is_called(env, e->d_name, asked, ret[count].name, sizeof ret[count].name))
            ret[count++].pid = (int32_t)number;
    return count;
}
