/* SPDX-License-Identifier: Apache-2.0
 * For how much of the last minutes each finding was there. What comes and goes exists in the moments between, too:
 *
 *   samples    f . . f . . f . .        f found   . not
 *   verdict    f     f . . f f f ...    from the third time on, for as long as it keeps coming back
 */
#pragma once

#include "insight/area/collect.h"

struct finding_presence;

struct finding_presence *presence_new(void); /* NULL: out of memory */
void presence_free(struct finding_presence *p);

/* Notes what this sample has. Each finding gets its beginning, its shares and its tense; what is away for a moment is added. */
void presence_take(struct finding_presence *p, struct collection *c);
