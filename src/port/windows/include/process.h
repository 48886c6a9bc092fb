/* SPDX-License-Identifier: Apache-2.0
 * Without names of its ancient ways to wait.
 */
#pragma once

#include_next <process.h>
#undef WAIT_CHILD
#undef WAIT_GRANDCHILD
