/* SPDX-License-Identifier: Apache-2.0
 * An answer of any length: one slice after the other, each asked for when the last one has been sent. A client that reads slowly
 * costs one slice of memory and nobody's time; one that goes away is not asked for any more.
 */
#pragma once

struct exchange;
struct history_query;
struct history_question;

enum { DOWNLOADS_MAX = 32, DOWNLOADS_OF_ONE = 8 };

/* The head and the first slice; the query is the download's from now on. */
void download_begin(struct exchange *x, struct history_query *query);
const char *download_type(const struct history_question *q);
