/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past for commands: the daemon is asked first; else, or when --direct or --store say so, the history is read
 * here, without changing it.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"
#include "ask/history_source.h"
#include "past/answer.h"

/* The option that such commands share, besides OPTION_STORE. */
#define PAST_OPTION_HOST                                                                         \
    {                                                                                            \
        .name = "host", .argument = "NAME", .help = "Show this host, if the history has several" \
    }
/* The parameters of a question from the command's options, times in the zone of this machine. -EINVAL: wrong usage. */
int past_question_of(struct cli *cli, struct past_question *q, struct error *err);

/* The same of a report. */
int past_report_of(struct cli *cli, struct past_question *q, struct error *err);

/* Asks; *ret is the answer, to be given back with json_decref. EXIT_FINE, or a message was printed. */
int past_fetch(struct cli *cli, struct past_question *q, json_t **ret);
/* Asks and prints, as text or JSON; the exit status. */
int past_show(struct cli *cli, struct past_question *q);
