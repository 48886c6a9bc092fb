/* SPDX-License-Identifier: Apache-2.0
 * Linked into every unit test: a home of its own, and output that is TAP to the letter.
 *
 * cmocka 1.1.5 prints a skipped test as "not ok", which counts as failed, and passes on what tests print as it is. All of its
 * output goes through print_message(), which is defined here once more and takes its place.
 */
#include "test.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

const char *skip_reason = "no reason given";

static char home[] = "/tmp/whirr-unit-XXXXXX";
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void remove_all(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void use_zone(const char *name, int minutes)
{
    const char *only = getenv("WHIRR_ZONE_MINUTES"); /* where the zone can't be chosen, but for UTC */
    setenv("TZ", name, 1);
    tzset();
    if (only && minutes && strtol(only, NULL, 10) != minutes)
        SKIP("the zone of this system is another one");
}

void make_folder_here(char ret_path[64])
{
    snprintf(ret_path, 64, "%s/XXXXXX", home);
    if (!mkdtemp(ret_path))
        abort();
}

static void leave_home(void)
{
    if (getpid() == owner) /* children of a test end here too */
        remove_all(home);
}

__attribute__((constructor)) static void enter_home(void)
{
    static const char *const names[] = {"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "WHIRR_SYSTEM_ROOT"};
    if (!mkdtemp(home))
        abort();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], home, 1);
    setenv("WHIRR_OWN_PIDS", "1", 1); /* those of a fake driver are ours, also in a container */
    unsetenv("STATE_DIRECTORY");
    unsetenv("RUNTIME_DIRECTORY");
    owner = getpid();
    atexit(leave_home);
}

static bool is_tap(const char *line)
{
    return strncmp(line, "ok ", 3) == 0 || strncmp(line, "not ok ", 7) == 0 || strncmp(line, "1..", 3) == 0 || line[0] == '#';
}

void print_message(const char *const format, ...)
{
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
    unsigned number;
    int name = 0; /* where it begins */
    if (!output || strcasecmp(output, "TAP") != 0) {
        fputs(text, stdout);
    } else if (sscanf(text, "not ok %u # SKIP %n", &number, &name) == 1 && name > 0) {
        text[strcspn(text, "\n")] = '\0';
        printf("ok %u - %s # SKIP %s\n", number, text + name, skip_reason);
        skip_reason = "no reason given";
    } else {
        for (char *rest = text, *line; (line = strsep(&rest, "\n")) && (rest || *line);)
            printf("%s%s\n", is_tap(line) ? "" : "# ", line);
    }
    fflush(stdout); /* what a child inherits in the buffer would be printed twice */
}
