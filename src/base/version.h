/* SPDX-License-Identifier: Apache-2.0
 * The version: WHIRR_VERSION comes from meson.build, the commit from git or, in a release, from a file.
 */
#pragma once

/* "caa60fd4c1b2", with "-dirty" if files were changed; "unknown" without git or that file. */
extern const char version_commit[];
