/* SPDX-License-Identifier: Apache-2.0
 * `whirr serve`: from flags to a running daemon.
 */
#include "cli/cmd_serve.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/daemon.h"

enum { SOURCES_FLAGS_MAX = 16 };

int cmd_serve(int argc, char **argv)
{
    static const struct option flags[] = {{"listen", required_argument, NULL, 'l'},
                                          {"socket", required_argument, NULL, 's'},
                                          {"interval", required_argument, NULL, 'i'},
                                          {"source", required_argument, NULL, 'S'},
                                          {"insecure", no_argument, NULL, 'I'},
                                          {"sysroot", required_argument, NULL, 'r'},
                                          {"store", required_argument, NULL, 'x'},
                                          {"log-format", required_argument, NULL, 'f'},
                                          {0}};
    struct env env;
    env_init_system(&env);
    const char *sources[SOURCES_FLAGS_MAX];
    struct daemon_options o = {.env = &env, .sources = sources, .server = {.interval_ms = 5000}};
    enum log_format format = LOG_FORMAT_TEXT;
    double interval;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        switch (flag) {
        case 'l':
            if (o.server.listen_count < SERVER_LISTEN_MAX)
                o.server.listen[o.server.listen_count++] = optarg;
            break;
        case 's': o.server.socket_path = strcmp(optarg, "none") == 0 ? NULL : optarg; break;
        case 'i':
            if (!str_to_double(str_from(optarg), &interval) || interval <= 0)
                return 2;
            o.server.interval_ms = MAX_OF((int64_t)(interval * 1000), (int64_t)1);
            break;
        case 'S':
            if (o.source_count < SOURCES_FLAGS_MAX)
                sources[o.source_count++] = optarg;
            break;
        case 'I': o.server.insecure = true; break;
        case 'r': env.sysroot = optarg; break;
        case 'x': break;
        case 'f':
            if (!log_format_from_name(optarg, &format))
                return 2;
            break;
        default: return 2;
        }
    }
    if (o.server.listen_count == 0)
        o.server.listen[o.server.listen_count++] = "127.0.0.1:9447";
    log_setup(LOG_INFO, format, stderr);
    return daemon_run(&o);
}
