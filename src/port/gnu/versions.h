/* SPDX-License-Identifier: Apache-2.0
 * Orders names with versions as people expect: "v9" before "v10".
 */
#pragma once

int gnu_strverscmp(const char *a, const char *b);
