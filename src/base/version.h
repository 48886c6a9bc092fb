/* SPDX-License-Identifier: Apache-2.0
 * Which whirr this is: WHIRR_VERSION comes from meson.build, the commit from git or, in a release, from the file that names it.
 */
#pragma once

/* "caa60fd4c1b2", with "-dirty" when files were changed; "unknown" outside of both. */
extern const char version_commit[];
