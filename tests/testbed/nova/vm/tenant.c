/* SPDX-License-Identifier: Apache-2.0
 *
 * tenant NAME: direct I/O on the disk /dev/NAME that checks itself.
 *
 * The block before the last 16 MiB, which are never touched, says what to do:
 *
 *     tenant WRITE_PCT BLOCK_KIB IODEPTH PAUSE_US
 *
 * Each of IODEPTH threads has a part of the second 64 MiB; the first may hold
 * what the server booted. It writes blocks at random, each stamped all over with its place and how often it was written,
 * reads blocks at random and compares them with what it wrote last. Once a
 * second a line of JSON says what was done and how long it took; "errors" and
 * "wrong" count since the disk was attached.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

enum {
    BEGIN = 64 << 20, AREA = 64 << 20, MARK = 16 << 20,
    ALIGN = 4096, MOST = 65536
};

static int fd, write_pct, block_kib, iodepth, pause_us;
static const char *disk;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long reads, writes, errors, wrong, checked;
static uint32_t took_us[MOST];
static unsigned long taken;

static double read_clock(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static void stamp(uint64_t *words, size_t bytes, uint64_t place,
                  uint64_t times)
{
    for (size_t i = 0; i < bytes / 8; i += 2) {
        words[i] = place * 0x9e3779b97f4a7c15ull + i;
        words[i + 1] = times;
    }
}

/* Where the first difference is, and what it looks like. */
static void show(const uint64_t *is, const uint64_t *should, size_t bytes,
                 uint64_t place)
{
    size_t i = 0;

    while (i < bytes / 8 - 1 && is[i] == should[i])
        i++;
    printf("wrong block of %s at byte %llu: %016llx, should be %016llx\n",
           disk, (unsigned long long) (place + 8 * i),
           (unsigned long long) is[i], (unsigned long long) should[i]);
    fflush(stdout);
}

static void *work(void *number)
{
    size_t bytes = block_kib << 10;
    uint64_t blocks = AREA / iodepth / bytes;
    uint64_t begin = BEGIN + (intptr_t) number * blocks * bytes;
    uint64_t *times = calloc(blocks, sizeof *times);
    uint64_t *is = aligned_alloc(ALIGN, bytes);
    uint64_t *should = aligned_alloc(ALIGN, bytes);
    unsigned int seed = begin;

    for (;;) {
        uint64_t n = rand_r(&seed) % blocks, place = begin + n * bytes;
        int writing = !times[n] || rand_r(&seed) % 100 < write_pct, bad = 0;
        double began = now(), took;
        ssize_t done;

        stamp(should, bytes, place, times[n] + writing);
        done = writing ? pwrite(fd, should, bytes, place)
                       : pread(fd, is, bytes, place);
        took = now() - began;
        if (done == (ssize_t) bytes) {
            if (writing)
                times[n]++;
            else
                bad = memcmp(is, should, bytes) != 0;
        }
        pthread_mutex_lock(&lock);
        if (done != (ssize_t) bytes)
            errors++;
        else if (writing)
            writes++;
        else {
            reads++;
            checked++;
        }
        if (bad && !wrong++)
            show(is, should, bytes, place);
        if (taken < MOST)
            took_us[taken++] = took * 1e6;
        pthread_mutex_unlock(&lock);
        if (done != (ssize_t) bytes)
            usleep(100000);
        else if (pause_us)
            usleep(pause_us);
    }
    return NULL;
}

static int by_size(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *) one, b = *(const uint32_t *) other;

    return a < b ? -1 : a > b;
}

static void tell(double seconds)
{
    double sum = 0;

    pthread_mutex_lock(&lock);
    qsort(took_us, taken, sizeof *took_us, by_size);
    for (unsigned long i = 0; i < taken; i++)
        sum += took_us[i];
    printf("{\"disk\": \"%s\", \"at\": %.3f, \"seconds\": %.3f, "
           "\"reads\": %lu, \"writes\": %lu, \"checked\": %lu, "
           "\"errors\": %lu, \"wrong\": %lu, \"mean_us\": %.0f, "
           "\"p99_us\": %u, \"max_us\": %u}\n", disk,
           read_clock(CLOCK_REALTIME), seconds, reads, writes, checked,
           errors, wrong, taken ? sum / taken : 0,
           taken ? took_us[(taken * 99) / 100] : 0,
           taken ? took_us[taken - 1] : 0);
    reads = writes = taken = 0;
    pthread_mutex_unlock(&lock);
    fflush(stdout);
}

/* The disk's serial number, the first 20 letters of the volume's id. */
static const char *serial(const char *name)
{
    static char found[64];
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/sys/block/%s/serial", name);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%63s", found) != 1)
        snprintf(found, sizeof found, "%s", name);
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    char path[64], *job = aligned_alloc(ALIGN, ALIGN);
    uint64_t size;
    double last;

    if (argc != 2)
        return 2;
    disk = serial(argv[1]);
    snprintf(path, sizeof path, "/dev/%s", argv[1]);
    fd = open(path, O_RDWR | O_DIRECT);
    if (fd < 0 || ioctl(fd, BLKGETSIZE64, &size)
        || pread(fd, job, ALIGN, size - MARK - ALIGN) != ALIGN) {
        perror(path);
        return 1;
    }
    if (sscanf(job, "tenant %d %d %d %d", &write_pct, &block_kib, &iodepth,
               &pause_us) != 4) {
        printf("%s says nothing to do\n", disk);
        return 0;
    }
    for (intptr_t i = 0; i < iodepth; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, (void *) i))
            return 1;
    }
    snprintf(path, sizeof path, "/sys/block/%s", argv[1]);
    last = now();
    while (!access(path, F_OK)) {
        double then;

        sleep(1);
        then = now();
        tell(then - last);
        last = then;
    }
    printf("%s is gone\n", disk);
    return 0;
}
