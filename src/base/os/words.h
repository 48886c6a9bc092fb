/* SPDX-License-Identifier: Apache-2.0
 * Words for people that differ between systems: the privileged user and how to become it, names of system components.
 */
#pragma once

#ifdef _WIN32
#define WORD_ADMINISTRATOR "an administrator"
#define WORD_AS_ADMINISTRATOR "in a terminal as administrator"
#define WORD_LOCAL_SOCKET "whirr.sock"
/* Commands that revoke others' write, or also read, access to a file. */
#define WORD_HIDE(path) "icacls " path " /inheritance:r /grant:r \"%%USERNAME%%:F\" SYSTEM:F Administrators:F"
#define WORD_CLOSE(path) WORD_HIDE(path)
#define WORD_SHARE(path, group) "icacls " path " /grant:r " group ":R; icacls " path " /remove Users"
#define WORD_RELOAD_SYSTEM "sc control whirr paramchange"
#define WORD_RELOAD_USER "stop `whirr serve` and start it again"
#define WORD_WITH_RIGHTS(command) command " " WORD_AS_ADMINISTRATOR
#define WORD_SERVE_ENDS "Ctrl+C stops it within two seconds, as the service manager does."
#define WORD_SERVICE_KINDS "system (as administrator) or no"
#define WORD_SYSTEM_LOG "the event log (Event Viewer, Windows Logs, System)"
#define WORD_SYSTEM_LOG_OF(name) WORD_SYSTEM_LOG
enum { WORDS_HAVE_SUDO = 0 };
#else
#define WORD_ADMINISTRATOR "root"
#define WORD_AS_ADMINISTRATOR "as root"
#define WORD_LOCAL_SOCKET "the Unix socket"
#define WORD_HIDE(path) "chmod 600 " path
#define WORD_CLOSE(path) "chmod go-w " path
/* For the owner and another user's daemon. Uses the path twice. */
#define WORD_SHARE(path, group) "chgrp " group " " path " && chmod 640 " path
#define WORD_WITH_RIGHTS(command) "sudo " command
#define WORD_SERVE_ENDS "SIGHUP reloads the configuration; SIGTERM stops it within two seconds."
#define WORD_SERVICE_KINDS "system, user or no"
#if defined(__APPLE__)
#define WORD_SYSTEM_LOG "the system log with `log show --last 1h`"
#define WORD_SYSTEM_LOG_OF(name) WORD_SYSTEM_LOG
#define WORD_RELOAD_SYSTEM "pkill -HUP whirr"
#define WORD_RELOAD_USER WORD_RELOAD_SYSTEM
#else
#define WORD_SYSTEM_LOG "the kernel log with `sudo dmesg`"
#define WORD_SYSTEM_LOG_OF(name) "the kernel log: `sudo dmesg | grep -i " name "`"
#define WORD_RELOAD_SYSTEM "systemctl reload whirr"
#define WORD_RELOAD_USER "systemctl --user reload whirr"
#endif
enum { WORDS_HAVE_SUDO = 1 };
#endif

/* Whether whirr can end programs on a GPU here. */
#ifdef __linux__
enum { WORDS_HAVE_GUARD = 1 };
#else
enum { WORDS_HAVE_GUARD = 0 };
#endif
