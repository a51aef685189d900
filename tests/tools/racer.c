/* racer.c - the hostile neighbour: swaps what stands in a directory with a symlink that leads
 * elsewhere, and back, as fast as it can, until it is told to end.
 *
 *     racer DIR TARGET [NAME...]
 *
 * The symlink to TARGET lies in DIR under the name .racer. Each swap is one RENAME_EXCHANGE, so
 * there is no moment without an entry under the name: whoever looks sees the entry or the symlink.
 * Without names everything that appears in DIR takes part, temporary names of a copier included.
 * SIGTERM ends it: it puts things back and prints the number of swaps.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fs.h>

#include "banned.h"

#define OWN_NAME ".racer"
#define PAUSE    200 /* turns of an empty loop between there and back */

static volatile sig_atomic_t is_over;
static uint64_t swaps;

static void end(int number)
{
    (void)number;
    is_over = 1;
}

static bool exchange(int dir, const char *name)
{
    return syscall(SYS_renameat2, dir, name, dir, OWN_NAME, RENAME_EXCHANGE) == 0;
}

/* There and back. An entry that goes away in between leaves its place to the symlink, which is then
 * taken back by a plain rename. */
static void swap(int dir, const char *name)
{
    if (!exchange(dir, name))
        return;
    swaps++;
    for (volatile int i = 0; i < PAUSE; i++) {}
    if (exchange(dir, name))
        swaps++;
    else
        renameat(dir, name, dir, OWN_NAME);
}

static void swap_all(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream)
        err(2, "cannot list the directory");
    for (struct dirent *entry; !is_over && (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, OWN_NAME) != 0)
            swap(dir, entry->d_name);
    closedir(stream);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: racer DIR TARGET [NAME...]\n", stderr);
        return 2;
    }
    int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        err(2, "cannot open '%s'", argv[1]);
    if (symlinkat(argv[2], dir, OWN_NAME) != 0)
        err(2, "cannot make a symlink in '%s'", argv[1]);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    /* The other side starts when it reads this. */
    puts("ready");
    fflush(stdout);
    while (!is_over) {
        for (int i = 3; i < argc && !is_over; i++)
            swap(dir, argv[i]);
        if (argc == 3)
            swap_all(dir);
    }
    unlinkat(dir, OWN_NAME, 0);
    printf("%" PRIu64 " swaps\n", swaps);
    return 0;
}
