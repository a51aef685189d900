/* put_files.c - what a disk can do without a store: the plain loop that makes each object last by
 * itself, and the fewest calls that make the same bytes last.
 *
 * A file of its own for each object needs two fsync(): one for its bytes, one for its name. With
 * many threads the file system may make several last together, so that is shown too.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "put.h"

#define FOLDERS 256u /* as everybody spreads them, by the first digits */

struct crew {
    struct load *load;
    int folders[FOLDERS];
};

static void put_one(const struct crew *crew, uint32_t number)
{
    struct load *load = crew->load;
    const char *name = load->names[number];
    unsigned place;
    uint64_t begin_ns = now_ns();
    if (sscanf(name, "b3:%2x", &place) != 1)
        die("no address:", name);
    int folder = crew->folders[place];
    int fd = openat(folder, name + 3, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, object_of(load, number), OBJECT_BYTES) != (ssize_t)OBJECT_BYTES ||
        fsync(fd) != 0 || close(fd) != 0 || fsync(folder) != 0)
        die("cannot store", name);
    load->took_ns[number] = now_ns() - begin_ns;
}

static void *run(void *arg)
{
    const struct crew *crew = arg;
    uint32_t number;
    while (take(crew->load, &number))
        put_one(crew, number);
    return NULL;
}

void put_files(struct load *load, const char *folder)
{
    struct crew crew = {.load = load};
    pthread_t threads[AT_ONCE_MAX];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < FOLDERS; i++) {
        char name[3];
        snprintf(name, sizeof(name), "%02x", i);
        if (mkdirat(fd, name, 0700) != 0 && errno != EEXIST)
            die("cannot make a folder in", folder);
        crew.folders[i] = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (crew.folders[i] < 0)
            die("cannot open a folder of", folder);
    }
    for (uint32_t i = 0; i < load->at_once; i++)
        if ((errno = pthread_create(&threads[i], NULL, run, &crew)) != 0)
            die("cannot start", "a thread");
    for (uint32_t i = 0; i < load->at_once; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < FOLDERS; i++)
        close(crew.folders[i]);
    close(fd);
}

void put_append(struct load *load, const char *folder)
{
    int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(parent, "all", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fsync(parent) != 0)
        die("cannot write in", folder);
    for (;;) {
        struct iovec pieces[AT_ONCE_MAX];
        uint32_t numbers[AT_ONCE_MAX], count = 0;
        uint64_t begin_ns = now_ns();
        while (count < load->at_once && take(load, &numbers[count])) {
            pieces[count].iov_base = (void *)(uintptr_t)object_of(load, numbers[count]);
            pieces[count].iov_len = OBJECT_BYTES;
            count++;
        }
        if (count == 0)
            break;
        if (writev(fd, pieces, (int)count) != (ssize_t)(count * OBJECT_BYTES) || fdatasync(fd) != 0)
            die("cannot append in", folder);
        for (uint32_t i = 0; i < count; i++)
            load->took_ns[numbers[i]] = now_ns() - begin_ns;
    }
    close(fd);
    close(parent);
}
