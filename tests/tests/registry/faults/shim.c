/* Faults for a program that a test starts with LD_PRELOAD: it dies before its n-th change of files, its disk is full, or its clock
 * is wrong. Nothing in the program knows of them.
 *
 *   FAULT_DIR       a folder; a fault is on while its file is there:
 *     full          writing fails as on a full disk
 *     clock         holds seconds by which the time of day is ahead
 *     kill          holds the number of the change before which the process ends by SIGKILL, counted from when the file appears
 *   Changes are syncs, renames, links, removals, new folders, and each first write after one of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static atomic_long changes, writing;

/* The number in a file of FAULT_DIR; -1 when the file is not there. By system calls, which are not ours. */
static long switched(const char *fault) {
    const char *folder = getenv("FAULT_DIR");
    char path[512], text[32] = {0};
    if (!folder || snprintf(path, sizeof path, "%s/%s", folder, fault) >= (int)sizeof path) return -1;
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return -1;
    syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    return strtol(text, NULL, 10);
}

static void change(int is_write) {
    long last = switched("kill");
    if (last < 0) {
        atomic_store(&changes, 0);
        atomic_store(&writing, 0);
        return;
    }
    if (is_write && atomic_exchange(&writing, 1)) return;
    if (!is_write) atomic_store(&writing, 0);
    if (atomic_fetch_add(&changes, 1) + 1 >= last) kill(getpid(), SIGKILL);
}

static int is_file(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

static int is_full(void) {
    if (switched("full") < 0) return 0;
    errno = ENOSPC;
    return 1;
}

#define WRITES(name, parameters, arguments)                                     \
    ssize_t name parameters {                                                   \
        if (is_file(fd)) {                                                      \
            change(1);                                                          \
            if (is_full()) return -1;                                           \
        }                                                                       \
        return REAL(#name, ssize_t (*) parameters) arguments;                   \
    }
WRITES(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRITES(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
WRITES(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
WRITES(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))

#define CHANGES(name, parameters, arguments)                                    \
    int name parameters {                                                       \
        change(0);                                                              \
        return REAL(#name, int (*) parameters) arguments;                       \
    }
CHANGES(fsync, (int fd), (fd))
CHANGES(fdatasync, (int fd), (fd))
CHANGES(rename, (const char *from, const char *to), (from, to))
CHANGES(link, (const char *from, const char *to), (from, to))
CHANGES(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CHANGES(unlink, (const char *path), (path))
CHANGES(rmdir, (const char *path), (path))
CHANGES(mkdir, (const char *path, mode_t mode), (path, mode))

int posix_fallocate(int fd, off_t at, off_t size) {
    if (switched("full") >= 0) return ENOSPC;
    return REAL("posix_fallocate", int (*)(int, off_t, off_t))(fd, at, size);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        long ahead = switched("clock");
        if (ahead > 0) time->tv_sec += ahead;
    }
    return result;
}
