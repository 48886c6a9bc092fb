/* SPDX-License-Identifier: Apache-2.0
 * whirr-control: started by systemd for whirr-control.socket, or by hand with --listen; --restore puts back what was left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/version.h"
#include "control/helper.h"
#include "control/holder.h"
#include "lease/settings_request.h"

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
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    control_socket(at.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(at.sun_path);
    /* All may connect: who may ask is looked at for each. */
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || chmod(at.sun_path, 0666) < 0 || listen(fd, 8) < 0)
        return error_set(err, -errno, "cannot listen at '%s': %s", at.sun_path, strerror(errno));
    return fd;
}

static int restore(const struct env *env, const struct config *config, struct error *err)
{
    struct settings_holder k;
    int rc = holder_open(&k, env, config->lease.dir, err);
    if (rc == -ENODEV)
        return 0; /* without a GPU nothing was changed */
    if (rc == 0)
        rc = lease_dir_lock(&k.dir, LEASE_LOCK_MS, err);
    if (rc < 0)
        return rc;
    rc = lease_set_recover(&k.dir, &k.set, true, err);
    holder_close(&k);
    return rc > 0 ? error_set(err, -EIO, "%d leases could not be ended: %s", rc, err->text) : rc;
}

int main(int argc, char **argv)
{
    struct env env;
    struct error err = {0};
    const char *what = argc == 2 ? argv[1] : "";
    env_init_system(&env);
    if (argc > 2 || (what[0] && strcmp(what, "--restore") != 0 && strcmp(what, "--listen") != 0)) {
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
    } else {
        fd = what[0] ? listen_here(&err) : env_handed_over("control");
        rc = fd >= 0   ? helper_run(&env, config, fd, what[0], &err)
             : what[0] ? fd
                       : error_set(&err, -EINVAL, "no socket was handed over; see whirr-control --help");
    }
    config_free(config);
    return rc < 0 ? fail(&err) : EXIT_FINE;
}
