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
/* A browser that asked for something else: to the form, and from there back to what it asked for. */
void send_to_login(struct exchange *x);
