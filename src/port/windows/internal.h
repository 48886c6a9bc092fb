/* SPDX-License-Identifier: Apache-2.0
 * What the files of this folder share: paths as Windows has them, and its errors as codes of POSIX.
 */
#pragma once

#include <windows.h>
#include <winsock2.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

enum { WIDE_PATH = 4096 };

/* UTF-8 to UTF-16. false: it does not fit, or is no UTF-8. */
bool wide_from(const char *text, wchar_t *to, size_t size);
/* The reverse. */
bool utf8_from(const wchar_t *wide, char *to, size_t size);
/* A path to open. false, and errno: it cannot be one, or is one of Linux: Wine would open those of its host. */
bool wide_path(const char *path, wchar_t to[WIDE_PATH]);
/* Windows gives long names of open files, "\\?\", which not everything takes: the plain one. */
void path_make_plain(char *path);
/* The next folder of PATH, without quotation marks: only those from a root on, as another would be another one tomorrow. */
bool path_next(struct str *rest, struct str *folder);
/* Sets errno; returns -1. */
int fail_with(DWORD error);
/* The file that a command line names, in PATH or by a path, and the line that Windows takes. 0 or -errno. */
int launch_line(const char *const *argv, wchar_t program[WIDE_PATH], wchar_t *line, size_t size);
/* A process in a job that ends it and its children when it is closed, with these files: NULL is none, and so is a job that the
 * system does not let it into. */
int start_process(const char *const *argv, HANDLE const files[3], DWORD flags, HANDLE *process, HANDLE *job);
/* One that has our console and files, and does not run yet. */
int start_suspended(const char *const *argv, PROCESS_INFORMATION *ret);
HANDLE make_job(void);                       /* all that is started in it ends with it; NULL: there is none */
HANDLE join_job(HANDLE job, HANDLE process); /* the job, or NULL, and it is closed: the system does not let the process in */
void leave_job(HANDLE job);                  /* closing it ends nothing any more */
/* With its children where it has a job. */
bool end_process(HANDLE process, HANDLE job, UINT code);
int status_of_code(DWORD code);       /* as waitpid() has it */
bool end_child(pid_t pid, UINT code); /* with its children; false: it is none of ours */
unsigned signals_handled(void);       /* so far */
/* That no program inherits; winsock is started. */
SOCKET make_socket(int family, int type);
/* To its handler, or to who waits for it; false: it has none. */
bool signal_arrives(int number);
/* First of all: what is written to the console is UTF-8. */
void console_start(void);
void console_lend(void); /* to another program, with the code page that it had */
/* To the standard error; false: that is no console. */
bool console_message(const char *text, size_t len);
