/* SPDX-License-Identifier: Apache-2.0
 * What the words of `whirr alert` share: the daemon's answer, or one made from a single sample.
 */
#pragma once

#include <jansson.h>

#include "alert/rule.h"
#include "ask/cli.h"

/* Asks the running daemon. NULL and a sentence: there is none (-ENOENT in err), or it refused. */
json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err);
/* True: this command must do without a daemon (--source, --sysroot, --direct). */
bool alert_is_direct(const struct cli *cli);
/* The configuration and its rules; EXIT_FINE, or what was wrong was printed. */
int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret);
/* Indented, to stdout. */
int alert_print_json(const json_t *json);
