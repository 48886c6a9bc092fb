/* SPDX-License-Identifier: Apache-2.0
 * Hides its obsolete wait functions.
 */
#pragma once

#include_next <process.h>
#undef WAIT_CHILD
#undef WAIT_GRANDCHILD
