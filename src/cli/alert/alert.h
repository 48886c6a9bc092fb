/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr alert`.
 */
#pragma once

#include <jansson.h>

#include "cli/command.h"
#include "store/store.h"

/* ---- whirr alert silence. ---- */

/* Takes the arguments after `silence`. Returns the exit status. */
int alert_silence(struct cli *cli, const char *const *words, size_t count);
/* Formats the list of silences in an answer of the API. */
void silences_text(struct buf *out, const struct page *page, const json_t *silences);

/* ---- whirr alert test: what rules report now, or would have reported. ---- */

/* `what`: a rule, a condition, or NULL for all rules. Returns the exit status. */
int alert_test(struct cli *cli, const char *what);

/* ---- A host over time, played faster than real time to try rules: simulated, recorded or from the history. ---- */

typedef void course_fn(void *user, const struct snapshot *s);

/* Whether a source can be played: "sim:..." or "replay:FILE". */
bool course_plays(const char *source);
int course_play(const struct env *env, const char *source, int64_t duration_ms, int64_t interval_ms, course_fn *each, void *user,
                struct error *err);

/* From the stored samples: GPU readings in the given `columns` (of SERIES_GPU). */
int course_past(struct store *store, const char *host, struct wall since, struct wall until, const size_t *columns, size_t count,
                course_fn *each, void *user, struct error *err);
