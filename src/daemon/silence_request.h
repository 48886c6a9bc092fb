/* SPDX-License-Identifier: Apache-2.0
 * The body of a request for silence, as it changes the list.
 */
#pragma once

#include "alert/silence.h"
#include "base/buf.h"
#include "base/str.h"

/* The status of the answer, whose body is appended; below 300: the silences are other ones now. */
int silence_request(struct silences *silences, struct wall now, struct str body, struct buf *out);
