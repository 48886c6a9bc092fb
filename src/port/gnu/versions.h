/* SPDX-License-Identifier: Apache-2.0
 * Names with versions in them, in the order that people expect: "v9" before "v10".
 */
#pragma once

int gnu_strverscmp(const char *a, const char *b);
