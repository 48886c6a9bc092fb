/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of this directory: Windows paths, and Windows errors as POSIX codes.
 */
#pragma once

#include <windows.h>
#include <winsock2.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

enum { WIDE_PATH = 4096 };

/* UTF-8 to UTF-16. False: too long or invalid UTF-8. */
bool wide_from(const char *text, wchar_t *to, size_t size);
/* The reverse. */
bool utf8_from(const wchar_t *wide, char *to, size_t size);
/* A path to open. False with errno: invalid, or a Linux path, which Wine would open on its host. */
bool wide_path(const char *path, wchar_t to[WIDE_PATH]);
/* Strips the "\\?\" that Windows puts before names of open files: not every function accepts it. */
void path_make_plain(char *path);
/* The next directory of PATH, without quotes. Skips relative ones, whose meaning changes with the working directory. */
bool path_next(struct str *rest, struct str *folder);
/* Sets errno; returns -1. */
int fail_with(DWORD error);
/* Finds the program of a command line, in PATH or by path, and builds the line for Windows. 0 or -errno. */
int launch_line(const char *const *argv, wchar_t program[WIDE_PATH], wchar_t *line, size_t size);
HANDLE join_job(HANDLE job, HANDLE process); /* the job, or NULL (and closed) if the system keeps the process out */
void leave_job(HANDLE job);                  /* from now on closing it ends nothing */
/* Ends it, with its children if it has a job. */
bool end_process(HANDLE process, HANDLE job, UINT code);
unsigned signals_handled(void); /* number of signals so far */
/* Not inherited; winsock must be started. */
SOCKET make_socket(int family, int type);
/* Calls the handler or wakes a waiting thread; false: neither exists. */
bool signal_arrives(int number);
/* Called first of all: sets the console to UTF-8. */
void console_start(void);
void console_lend(void); /* restores the code page for another program */
