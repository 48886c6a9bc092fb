/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past for commands: the daemon is asked first; else, or when --direct or --store say so, the history is read
 * here, without changing it.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"
#include "ask/history_source.h"
#include "past/answer.h"

/* Asks; *ret is the answer, to be given back with json_decref. EXIT_FINE, or a message was printed. */
int past_fetch(struct cli *cli, struct past_question *q, json_t **ret);
/* Asks and prints, as text or JSON; the exit status. Of a report, `by` names the only breakdown; NULL: all. */
int past_show(struct cli *cli, struct past_question *q, const char *by);
