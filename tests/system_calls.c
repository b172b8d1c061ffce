/* Loaded before the C library: writes down the calls that decide what a power cut leaves, one on each line.

   The file to write to is named by SYSTEM_CALLS. A line is `call TAB path TAB path LF`, the second path empty but for
   calls that have two. Calls that fail are not told of. Those of one name can be made to fail. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* After so many calls that need space, in a folder with the name `full`, there is none; -1: there is none. */
int calls_until_full = 0;

static int needs_space(const char *call, const char *path) {
    if (!calls_until_full || !strstr(path, "/full/") || !strcmp(call, "fsync") || !strcmp(call, "close") ||
        !strcmp(call, "unlink") || !strcmp(call, "rmdir"))
        return 0;
    if (calls_until_full > 0 && --calls_until_full)
        return 0;
    calls_until_full = -1;
    errno = ENOSPC;
    return 1;
}

/* Whether a call is to fail: SYSTEM_CALLS_FAIL is its name, and files `out`, with or without a dot and more behind
   it, and before it, count. */
static int fails(const char *call, const char *path) {
    const char *wanted = getenv("SYSTEM_CALLS_FAIL"), *name = strrchr(path, '/');
    if (needs_space(call, path))
        return 1;
    if (!wanted || strcmp(wanted, call) || !name)
        return 0;
    name += name[1] == '.' ? 2 : 1;
    if (strncmp(name, "out", 3) || (name[3] && name[3] != '.'))
        return 0;
    errno = EIO;
    return 1;
}

static void tell(const char *call, const char *path, const char *to) {
    char line[2 * PATH_MAX + 64];
    int number = errno;
    const char *log = getenv("SYSTEM_CALLS");
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", call, path, to);
    long fd = log ? syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        if (syscall(SYS_write, fd, line, size) != size)
            abort();
        syscall(SYS_close, fd);
    }
    errno = number;
}

static const char *of_fd(int fd, char *room) {
    char name[64];
    ssize_t size;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    size = syscall(SYS_readlinkat, AT_FDCWD, name, room, PATH_MAX - 1);
    room[size < 0 ? 0 : size] = 0;
    return room;
}

static const char *at(int folder, const char *path, char *room) {
    char base[PATH_MAX];
    if (*path == '/')
        snprintf(room, PATH_MAX, "%.4000s", path);
    else if (folder == AT_FDCWD)
        snprintf(room, PATH_MAX, "%.2000s/%.2000s", getcwd(base, sizeof base) ? base : "", path);
    else
        snprintf(room, PATH_MAX, "%.2000s/%.2000s", of_fd(folder, base), path);
    return room;
}

static void tell_fd(const char *call, int fd) {
    char path[PATH_MAX];
    tell(call, of_fd(fd, path), "");
}

static void tell_at(const char *call, int folder, const char *name, int to_folder, const char *to) {
    char path[PATH_MAX], to_path[PATH_MAX] = "";
    tell(call, at(folder, name, path), to ? at(to_folder, to, to_path) : "");
}

/* Calls on an open file. */
#define ON_FD(call, type, name, declared, fd, ...)                                                                     \
    type name declared {                                                                                               \
        char path[PATH_MAX];                                                                                           \
        if (fails(call, of_fd(fd, path)))                                                                              \
            return -1;                                                                                                 \
        type result = NEXT(name)(__VA_ARGS__);                                                                         \
        if (result >= 0)                                                                                               \
            tell_fd(call, fd);                                                                                         \
        return result;                                                                                                 \
    }

ON_FD("fsync", int, fsync, (int fd), fd, fd)
ON_FD("fsync", int, fdatasync, (int fd), fd, fd)
ON_FD("write", int, ftruncate, (int fd, off_t size), fd, fd, size)
ON_FD("write", int, ftruncate64, (int fd, off64_t size), fd, fd, size)
ON_FD("write", int, fallocate, (int fd, int mode, off_t at, off_t size), fd, fd, mode, at, size)
ON_FD("write", int, fallocate64, (int fd, int mode, off64_t at, off64_t size), fd, fd, mode, at, size)
ON_FD("write", ssize_t, write, (int fd, const void *data, size_t size), fd, fd, data, size)
ON_FD("write", ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), fd, fd, data, size, at)
ON_FD("write", ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), fd, fd, data, size, at)
ON_FD("write", ssize_t, writev, (int fd, const struct iovec *parts, int n), fd, fd, parts, n)
ON_FD("write", ssize_t, copy_file_range,
      (int source, off64_t *from, int fd, off64_t *to, size_t size, unsigned flags), fd, source, from, fd, to, size,
      flags)
ON_FD("write", ssize_t, sendfile, (int fd, int source, off_t *from, size_t size), fd, fd, source, from, size)
ON_FD("write", ssize_t, sendfile64, (int fd, int source, off64_t *from, size_t size), fd, fd, source, from, size)

/* Closes the file in any case, as the system does. */
int close(int fd) {
    char path[PATH_MAX];
    int number = fails("close", of_fd(fd, path)) ? errno : 0;
    int result = NEXT(close)(fd);
    if (number)
        errno = number;
    return number ? -1 : result;
}

/* Calls on names. What was open under a name has another one after them. */
#define ON_NAME(call, name, declared, folder, path, ...)                                                               \
    int name declared {                                                                                                \
        char room[PATH_MAX];                                                                                           \
        if (fails(call, at(folder, path, room)))                                                                       \
            return -1;                                                                                                 \
        int result = NEXT(name)(__VA_ARGS__);                                                                          \
        if (result == 0)                                                                                               \
            tell_at(call, folder, path, 0, NULL);                                                                      \
        return result;                                                                                                 \
    }
#define ON_NAMES(call, name, declared, folder, path, to_folder, to, ...)                                               \
    int name declared {                                                                                                \
        char room[PATH_MAX];                                                                                           \
        if (fails(call, at(folder, path, room)))                                                                       \
            return -1;                                                                                                 \
        int result = NEXT(name)(__VA_ARGS__);                                                                          \
        if (result == 0)                                                                                               \
            tell_at(call, folder, path, to_folder, to);                                                                \
        return result;                                                                                                 \
    }

ON_NAMES("rename", rename, (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, a, b)
ON_NAMES("rename", renameat, (int d, const char *a, int e, const char *b), d, a, e, b, d, a, e, b)
ON_NAMES("rename", renameat2, (int d, const char *a, int e, const char *b, unsigned f), d, a, e, b, d, a, e, b, f)
ON_NAMES("link", link, (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, a, b)
ON_NAMES("link", linkat, (int d, const char *a, int e, const char *b, int flags), d, a, e, b, d, a, e, b, flags)
ON_NAME("unlink", unlink, (const char *a), AT_FDCWD, a, a)
ON_NAME("unlink", unlinkat, (int d, const char *a, int flags), d, a, d, a, flags)
ON_NAME("rmdir", rmdir, (const char *a), AT_FDCWD, a, a)
ON_NAME("mkdir", mkdir, (const char *a, mode_t mode), AT_FDCWD, a, a, mode)
ON_NAME("mkdir", mkdirat, (int d, const char *a, mode_t mode), d, a, d, a, mode)
ON_NAME("write", truncate, (const char *a, off_t size), AT_FDCWD, a, a, size)
ON_NAME("write", truncate64, (const char *a, off64_t size), AT_FDCWD, a, a, size)

/* Opening: told if it makes a file, or takes all data away from one. */
#define ON_OPEN(name, declared, folder, path, ...)                                                                     \
    int name declared {                                                                                                \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                                      \
        va_end(more);                                                                                                  \
        struct stat status;                                                                                            \
        int is_new = (flags & O_CREAT) && fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) < 0;                     \
        char room[PATH_MAX];                                                                                           \
        if (is_new && needs_space("create", at(folder, path, room)))                                                   \
            return -1;                                                                                                 \
        int fd = NEXT(name)(__VA_ARGS__);                                                                              \
        if (fd >= 0 && (is_new || (flags & O_TRUNC)))                                                                  \
            tell_fd(is_new ? "create" : "write", fd);                                                                  \
        return fd;                                                                                                     \
    }

ON_OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, path, flags, mode)
ON_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, path, flags, mode)
ON_OPEN(openat, (int d, const char *path, int flags, ...), d, path, d, path, flags, mode)
ON_OPEN(openat64, (int d, const char *path, int flags, ...), d, path, d, path, flags, mode)
