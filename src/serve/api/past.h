/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past that are answered with words: GET /api/why with `at` or `since`, and GET
 * /api/report. The store's reader answers.
 */
#pragma once

#include <stdbool.h>

struct exchange;

/* True when the request asks about the past; it is then answered, or will be. */
bool past_handles(struct exchange *x);
void get_report(struct exchange *x);
