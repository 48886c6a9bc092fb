/* SPDX-License-Identifier: Apache-2.0
 * System calls by their POSIX names.
 */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include_next <unistd.h>

enum { _SC_PAGESIZE, _SC_NPROCESSORS_ONLN, _SC_NPROCESSORS_CONF, _SC_CLK_TCK, _SC_PHYS_PAGES, _SC_OPEN_MAX };
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2

/* There is one user: the one who runs the program. Windows checks permissions. */
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
pid_t getppid(void);
long sysconf(int name);
int posix_gethostname(char *name, size_t size);
ssize_t pread(int fd, void *to, size_t size, off_t at);
ssize_t pwrite(int fd, const void *from, size_t size, off_t at);
ssize_t readlink(const char *path, char *target, size_t size);
int symlink(const char *target, const char *path);
int link(const char *path, const char *fresh);
int faccessat(int dir, const char *name, int mode, int flags);
int fsync(int fd);
int fdatasync(int fd);
int fchown(int fd, uid_t user, gid_t group);
/* Does nothing: its callers don't run here. */
unsigned alarm(unsigned seconds);
int pipe2(int ends[2], int flags);
#define gethostname posix_gethostname
int posix_isatty(int fd); /* false for NUL */
#define isatty posix_isatty
/* Exits at once, but restores the console. */
void posix_exit_now(int code) __attribute__((noreturn));
#define _exit posix_exit_now
int symlinkat(const char *target, int dir, const char *name);
int unlinkat(int dir, const char *name, int flags);
