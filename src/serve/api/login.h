/* SPDX-License-Identifier: Apache-2.0
 * The form that turns a token into a cookie, for browsers.
 */
#pragma once

struct exchange;

void get_login(struct exchange *x);
void post_login(struct exchange *x);
void post_logout(struct exchange *x);
/* Whether who asks may act, and whether a cookie is why: the page offers to log out then. */
void get_session(struct exchange *x);
/* The form as the answer to any request. `fields` and `message` may be NULL. */
void reply_login(struct exchange *x, int status, const char *fields, const char *message);
