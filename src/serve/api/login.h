/* SPDX-License-Identifier: Apache-2.0
 * The form that exchanges a token for a cookie, for browsers.
 */
#pragma once

struct exchange;

void get_login(struct exchange *x);
void post_login(struct exchange *x);
void post_logout(struct exchange *x);
/* Whether the client may act, and whether because of a cookie: then the page offers to log out. */
void get_session(struct exchange *x);
/* Redirects a browser to the form, and from there back to the requested page. */
void send_to_login(struct exchange *x);
