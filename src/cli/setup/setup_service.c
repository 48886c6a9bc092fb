/* SPDX-License-Identifier: Apache-2.0
 * The systemd service that `whirr setup` creates: its unit, and the systemctl commands that start and remove it.
 */
#include "cli/setup/plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/config.h"

static const char unit_text[] =
    "# Written by whirr setup; `whirr setup --undo` removes it.\n"
    "[Unit]\nDescription=whirr, GPU monitor and guard\n\n"
    "[Service]\nType=notify\nExecStart=%s serve\nExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\n"
    "RestartSec=2\nWatchdogSec=30\nTimeoutStopSec=60\nUMask=0077\nLimitNOFILE=65536\n%s\n"
    "[Install]\nWantedBy=%s\n";
static const char system_unit[] =
    "StateDirectory=whirr\nRuntimeDirectory=whirr\nCapabilityBoundingSet=CAP_SYS_PTRACE "
    "CAP_PERFMON CAP_SYSLOG\nNoNewPrivileges=yes\nSystemCallFilter=~process_vm_writev process_madvise pidfd_getfd\n"
    "SystemCallErrorNumber=EPERM\nSystemCallArchitectures=native\nProtectSystem=strict\nProtectHome=read-only\nPrivateTmp=yes\n";

/* Whether a package has installed a unit, so that we need not write one. */
static bool unit_is_there(const char *root, bool user)
{
    static const char *const places[] = {"/etc", "/usr/lib", "/lib", "/usr/local/lib"};
    char path[PLACE_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof path, "%.4000s%s/systemd/%s/whirr.service", root, places[i], user ? "user" : "system");
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Quotes a program for systemd, where a space ends a word and % begins a specifier. */
static void put_program(struct buf *out, const char *path)
{
    bool quoted = strpbrk(path, " ;$#") != NULL;
    if (quoted)
        buf_char(out, '"');
    for (const char *c = path; *c; c++) {
        buf_char(out, *c);
        if (*c == '%')
            buf_char(out, '%');
    }
    if (quoted)
        buf_char(out, '"');
}

/* False for characters that systemd refuses in a program's path, however quoted. */
static bool is_startable(const char *path)
{
    for (const char *c = path; *c; c++)
        if (iscntrl((unsigned char)*c) || strchr("\"'\\", *c))
            return false;
    return true;
}

static int add_unit(struct plan *p, const char *root, bool user, struct error *err)
{
    char path[PLACE_SIZE], program[PLACE_SIZE / 2] = "/usr/bin/whirr";
    const char *base = env_variable("XDG_CONFIG_HOME"), *home = env_variable("HOME");
    if (unit_is_there(root, user))
        return 0;
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len > 0)
        program[len] = '\0';
    if (!is_startable(program))
        return error_set(
            err, -EINVAL,
            "systemd can't start '%s': its path has a quote, a backslash, or a control character; move it, or use --service no",
            program);
    if (!user)
        snprintf(path, sizeof path, "%.4000s/etc/systemd/system/whirr.service", root);
    else if (base && base[0] == '/')
        snprintf(path, sizeof path, "%.4000s/systemd/user/whirr.service", base);
    else
        snprintf(path, sizeof path, "%.4000s/.config/systemd/user/whirr.service", home ? home : "");
    AUTO_BUF struct buf text = BUF(16 * 1024), word = BUF(2 * PLACE_SIZE);
    put_program(&word, program);
    buf_printf(&text, unit_text, word.at ? word.at : program, user ? "" : system_unit,
               user ? "default.target" : "multi-user.target");
    return plan_add_file(p, path, buf_view(&text), false, err);
}

/* Adds systemctl for the session, the system, or a system that is not running (WHIRR_SYSTEM_ROOT). */
static void add_systemctl(struct plan *p, bool user, const char *root, const char *verb, const char *undo)
{
    char offline[PLACE_SIZE];
    const char *argv[6] = {"systemctl"}, *back[7] = {"systemctl"};
    size_t count = 1;
    snprintf(offline, sizeof offline, "--root=%.4000s", root);
    if (user)
        argv[count++] = "--user";
    else if (root[0])
        argv[count++] = offline;
    memcpy(back, argv, sizeof argv);
    argv[count] = verb;
    back[count] = undo;
    size_t last = count + 1;
    if (strcmp(verb, "daemon-reload") != 0)
        argv[last] = "whirr.service";
    if (undo && (user || !root[0]))
        back[last++] = "--now";
    back[last] = "whirr.service";
    plan_add_command(p, argv, undo ? back : NULL);
}

static int add_service(struct plan *p, const char *kind, struct error *err)
{
    const char *set = env_variable(CONFIG_SYSTEM_ROOT), *root = set ? set : "";
    bool user = strcmp(kind, "user") == 0;
    if (strcmp(kind, "no") == 0)
        return 0;
    size_t files = p->file_count;
    int rc = add_unit(p, root, user, err);
    if (rc < 0)
        return rc;
    bool runs = user || !root[0]; /* otherwise the system only exists on disk */
    if (p->file_count > files && runs)
        add_systemctl(p, user, root, "daemon-reload", NULL);
    add_systemctl(p, user, root, "enable", "disable");
    if (runs)
        add_systemctl(p, user, root, "restart", NULL);
    return 0;
}

const struct setup_service setup_service = {
    .of_user = {{"user", "no"}, "user or no", "Run whirr as a service? (user, no; for all users: sudo whirr setup)"},
    .of_root = {{"system", "user", "no"}, "system, user or no", "Run whirr as a service? (system, user, no)"},
    .needs_root = "only root can run it as a service of the system: sudo whirr setup",
    .add = add_service,
};
