/* SPDX-License-Identifier: Apache-2.0
 * whirr-control: started by systemd for whirr-control.socket, or by hand with --listen; --restore cleans up what was left.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/shared.h"
#include "config/config.h"
#include "control/control.h"
#include "lease/control_request.h"
#include "lease/lease_settings.h"

enum { FAN_TRIES = 20, FAN_PAUSE_MS = 500 };

static int fail(const struct error *err)
{
    fprintf(stderr, "whirr-control: %s\n", err->text);
    return EXIT_FAILED;
}

static struct config *load(const struct env *env)
{
    static struct config_problems problems;
    struct config *config = NULL;
    const struct config_inputs inputs = {.env = env, .environment = env_variables(), .forgiving = true};
    if (config_load(&inputs, &config, &problems) < 0)
        fprintf(stderr, "whirr-control: %s: %s\n", problems.list[0].where, problems.list[0].text);
    return config;
}

static int listen_here(struct error *err)
{
    char path[CONTROL_SOCKET_SIZE];
    control_socket(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(path);
    /* All users may connect: each peer's permissions are checked. */
    int rc = fd < 0 ? -errno : shared_socket_bind(fd, path, 0666);
    if (rc == 0 && listen(fd, SOMAXCONN) < 0)
        rc = -errno;
    if (rc < 0 && fd >= 0)
        close(fd);
    return rc < 0 ? error_set(err, rc, "cannot listen at '%s': %s", path, strerror(-rc)) : fd;
}

/* The service manager runs --restore whenever the helper ends. After a clean end the helper has restored its own leases: the
 * remaining ones belong to programs of root, and last as long as these. */
static bool ended_well(void)
{
    const char *result = getenv("SERVICE_RESULT");
    return result && strcmp(result, "success") == 0;
}

/* Restores fans at once, retrying as long as the service manager waits; then the rest, which needs the lock. */
static int restore(const struct env *env, const struct config *config, struct error *err)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_CONTROL struct control_set set = {0};
    int rc = control_open(env, &set, err);
    if (rc == -ENODEV)
        return 0; /* without a GPU, nothing was changed */
    if (rc == 0)
        rc = lease_dir_open_settings(&dir, config->lease.dir, err);
    if (rc < 0)
        return rc;
    bool all = !ended_well();
    for (int i = 0; i < FAN_TRIES && (rc = lease_set_release_fans(&dir, &set, all, err)) < 0 && rc != -ENODEV; i++)
        poll(NULL, 0, FAN_PAUSE_MS);
    rc = lease_dir_lock(&dir, LEASE_LOCK_MS, err);
    if (rc == 0)
        rc = lease_set_recover(&dir, &set, all, err);
    return rc > 0 && all ? error_set(err, -EIO, "%d leases could not be ended: %s", rc, err->text) : MIN_OF(rc, 0);
}

int main(int argc, char **argv)
{
    struct env env;
    struct error err = {0};
    const char *what = argc == 2 ? argv[1] : "";
    env_init_system(&env);
    if (argc > 2 || (what[0] && strcmp(what, "--restore") != 0 && strcmp(what, "--listen") != 0 && strcmp(what, "--watch") != 0)) {
        bool asked = strcmp(what, "--help") == 0 || strcmp(what, "--version") == 0;
        fprintf(asked ? stdout : stderr,
                "whirr-control " WHIRR_VERSION ": changes settings of GPUs for `whirr quiet` and others (docs/leases.md)\n"
                "  whirr-control             serve the socket that systemd hands over\n"
                "  whirr-control --listen    open the socket here\n"
                "  whirr-control --restore   put back what was changed, and end\n");
        return asked ? EXIT_FINE : EXIT_USAGE;
    }
    struct config *config = load(&env);
    if (!config)
        return EXIT_USAGE;
    int rc = 0, fd = -1;
    if (strcmp(what, "--restore") == 0) {
        rc = restore(&env, config, &err);
    } else if (strcmp(what, "--watch") == 0) {
        rc = helper_watch(&env, config, &err);
    } else {
        fd = what[0] ? listen_here(&err) : env_handed_over("control");
        rc = fd >= 0   ? helper_run(&env, config, fd, what[0], &err)
             : what[0] ? fd
                       : error_set(&err, -EINVAL, "no socket was handed over; see whirr-control --help");
    }
    config_free(config);
    return rc < 0 ? fail(&err) : EXIT_FINE;
}
