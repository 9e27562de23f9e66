/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a User-Mode Linux guest: what makes it run on this CPU, and
 * what makes a file behave like an SSD.
 *
 * 1. UML 6.1 has room for 2 KiB of FPU state.  A CPU with AMX has more, and
 *    PTRACE_GETREGSET and PTRACE_SETREGSET then refuse the short buffer: the
 *    guest dies at its first process.  Here the whole state is read into a
 *    buffer that is large enough, and UML's part of it is copied.
 *
 * 2. UML 6.1 forgets a timer's alarm that comes while it still works on the
 *    one before ("do not reenter the handler"), which happens on a busy host.
 *    The timer is a one-shot and nobody sets it again: the guest's clock and
 *    time-outs stand still, TCP hangs.  Here a shot repeats until the next one
 *    is set; an alarm too many does no harm.
 *
 * 3. One I/O thread serves all block devices of a guest, one request after
 *    the other, by pread64 and pwrite64.  So where each takes bytes / bandwidth
 *    on the file SSD_IMAGE, it is a first-in-first-out server: latency grows
 *    with the bytes that are outstanding.  SSD_READ_MBS and SSD_WRITE_MBS are
 *    its bandwidths in MB/s.  A flush costs nothing, as on an SSD whose cache
 *    survives a power failure; what a killed guest has written stays in the
 *    file, for the host's kernel has it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FPU_BYTES = 65536 };

/* A sleep that ends late by less than SLACK_NS is made up for by the next
 * request, so that the bandwidth is right; after a longer gap the server was
 * really idle.  UML asks for one page after the other: a request may end early
 * by EARLY_NS, which saves most of the sleeps and adds up to nothing. */
static const long SLACK_NS = 2000000;
static const long EARLY_NS = 200000;

/* Of an alarm that may have been forgotten. */
static const long REPEAT_NS = 20000000;

static struct {
    int known;                  /* 0: not looked for, 1: there, -1: none */
    dev_t device;
    ino_t inode;
    double read_ns_per_byte;
    double write_ns_per_byte;
    long busy_until;            /* CLOCK_MONOTONIC, in ns */
} ssd;

static long fpu_state(int set, pid_t pid, struct iovec *wanted)
{
    static char whole[FPU_BYTES] __attribute__((aligned(64)));
    struct iovec all = { whole, sizeof whole };
    void *kind = (void *) NT_X86_XSTATE;
    long result = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, kind, &all);
    size_t size;

    if (result < 0)
        return result;
    size = wanted->iov_len < all.iov_len ? wanted->iov_len : all.iov_len;
    if (set) {
        memcpy(whole, wanted->iov_base, size);
        return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, &all);
    }
    memcpy(wanted->iov_base, whole, size);
    wanted->iov_len = size;
    return 0;
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list rest;
    pid_t pid;
    void *address, *data;

    va_start(rest, request);
    pid = va_arg(rest, pid_t);
    address = va_arg(rest, void *);
    data = va_arg(rest, void *);
    va_end(rest);
    if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET)
        && (unsigned long) address == NT_X86_XSTATE)
        return fpu_state(request == PTRACE_SETREGSET, pid, data);
    if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
        /* The system call stores what the C library returns. */
        long word;
        long result = syscall(SYS_ptrace, request, pid, address, &word);

        if (result < 0)
            return result;
        errno = 0;
        return word;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *wanted,
                  struct itimerspec *before)
{
    static int (*real)(timer_t, int, const struct itimerspec *,
                       struct itimerspec *);
    struct itimerspec repeated = *wanted;
    int off = !wanted->it_value.tv_sec && !wanted->it_value.tv_nsec;
    int once = !wanted->it_interval.tv_sec && !wanted->it_interval.tv_nsec;

    if (!real)
        *(void **) &real = dlsym(RTLD_NEXT, "timer_settime");
    if (once && !off)
        repeated.it_interval.tv_nsec = REPEAT_NS;
    return real(timer, flags, &repeated, before);
}

static double ns_per_byte(const char *variable)
{
    const char *text = getenv(variable);
    double mbs = text ? atof(text) : 0;

    return mbs > 0 ? 1000 / mbs : 0;
}

static void look_for_ssd(void)
{
    const char *image = getenv("SSD_IMAGE");
    struct stat found;

    ssd.known = -1;
    if (!image || stat(image, &found))
        return;
    ssd.device = found.st_dev;
    ssd.inode = found.st_ino;
    ssd.read_ns_per_byte = ns_per_byte("SSD_READ_MBS");
    ssd.write_ns_per_byte = ns_per_byte("SSD_WRITE_MBS");
    ssd.known = 1;
}

static int is_ssd(int fd)
{
    struct stat found;

    if (!ssd.known)
        look_for_ssd();
    return ssd.known > 0 && !fstat(fd, &found)
        && found.st_ino == ssd.inode && found.st_dev == ssd.device;
}

static long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* A server that wakes up late would be slower than it claims to be. */
static void wake_up_on_time(void)
{
    static int done;
    struct sched_param first = { .sched_priority = 10 };

    if (done)
        return;
    done = 1;
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &first);
}

static void serve(long arrived, double service_ns)
{
    long begin = arrived;
    struct timespec end;

    wake_up_on_time();
    if (arrived - ssd.busy_until < SLACK_NS)
        begin = ssd.busy_until;
    ssd.busy_until = begin + (long) service_ns;
    if (ssd.busy_until - now() < EARLY_NS)
        return;
    end.tv_sec = ssd.busy_until / 1000000000L;
    end.tv_nsec = ssd.busy_until % 1000000000L;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, 0) == EINTR)
        ;
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset)
{
    int slow = is_ssd(fd);
    long arrived = slow ? now() : 0;
    ssize_t result = syscall(SYS_pread64, fd, buffer, size, offset);

    if (slow && result > 0)
        serve(arrived, size * ssd.read_ns_per_byte);
    return result;
}

ssize_t pwrite64(int fd, const void *buffer, size_t size, off_t offset)
{
    int slow = is_ssd(fd);
    long arrived = slow ? now() : 0;
    ssize_t result = syscall(SYS_pwrite64, fd, buffer, size, offset);

    if (slow && result > 0)
        serve(arrived, size * ssd.write_ns_per_byte);
    return result;
}

int fsync(int fd)
{
    return is_ssd(fd) ? 0 : syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return is_ssd(fd) ? 0 : syscall(SYS_fdatasync, fd);
}
