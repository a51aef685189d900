/* put_main.c - stores objects of 64 KiB in one of several ways, and says how many in which time.
 *
 *     bench-storage-put http PORT PREFIX    COUNT AT_ONCE SECONDS SEED
 *     bench-storage-put files FOLDER -      COUNT AT_ONCE SECONDS SEED
 *     bench-storage-put append FOLDER -     COUNT AT_ONCE SECONDS SEED
 *
 * The objects are random and all differ; another seed makes others.
 */
#include "put.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000u

_Noreturn void die(const char *what, const char *subject)
{
    fprintf(stderr, "bench-storage-put: %s '%s': %s\n", what, subject,
            errno ? strerror(errno) : "not as it should be");
    exit(1);
}

uint64_t now_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        die("cannot read", "the clock");
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool take(struct load *load, uint32_t *ret_number)
{
    if (now_ns() >= load->end_ns)
        return false;
    uint_fast32_t number = atomic_fetch_add(&load->next, 1);
    if (number >= load->count)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

const unsigned char *object_of(const struct load *load, uint32_t number)
{
    return load->bytes + (size_t)number * OBJECT_BYTES;
}

/* --- material --- */

/* SplitMix64: any seed is a good one. */
static uint64_t roll(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static void make(struct load *load, uint64_t seed)
{
    size_t size = (size_t)load->count * OBJECT_BYTES;
    uint64_t *words = malloc(size);
    load->names = calloc(load->count, sizeof(*load->names));
    load->took_ns = calloc(load->count, sizeof(*load->took_ns));
    if (!words || !load->names || !load->took_ns)
        die("no memory for", "the objects");
    for (size_t i = 0; i < size / sizeof(*words); i++)
        words[i] = roll(&seed);
    load->bytes = (const unsigned char *)words;
    for (uint32_t i = 0; i < load->count; i++) {
        struct weir__address address;
        weir__address_of(object_of(load, i), OBJECT_BYTES, &address);
        weir__address_print(&address, load->names[i]);
    }
}

/* --- telling --- */

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void tell(struct load *load, uint64_t ns)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < load->count; i++)
        if (load->took_ns[i])
            load->took_ns[done++] = load->took_ns[i];
    if (done == 0)
        die("nothing was stored in", "the time given");
    qsort(load->took_ns, done, sizeof(*load->took_ns), compare);
    printf("{\"puts\": %" PRIu32 ", \"seconds\": %.6f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", done,
           (double)ns / 1e9, (double)load->took_ns[done / 2] / 1e6,
           (double)load->took_ns[(uint64_t)done * 99 / 100] / 1e6);
}

static uint64_t number_of(const char *text, uint64_t max)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno || *end || end == text || number > max)
        die("no number within its bounds:", text);
    return number;
}

int main(int argc, char **argv)
{
    if (argc != 8)
        die("eight words are needed, see the head of", "put_main.c");
    struct load load = {
        .count = (uint32_t)number_of(argv[4], 1u << 20),
        .at_once = (uint32_t)number_of(argv[5], AT_ONCE_MAX),
    };
    if (load.count == 0 || load.at_once == 0)
        die("nothing to do with", "a count of 0");
    make(&load, number_of(argv[7], UINT64_MAX));
    uint64_t begin_ns = now_ns();
    load.end_ns = begin_ns + number_of(argv[6], 3600) * NS_PER_S;
    if (strcmp(argv[1], "http") == 0)
        put_http(&load, (uint16_t)number_of(argv[2], UINT16_MAX), argv[3]);
    else if (strcmp(argv[1], "files") == 0)
        put_files(&load, argv[2]);
    else if (strcmp(argv[1], "append") == 0)
        put_append(&load, argv[2]);
    else
        die("no way to store:", argv[1]);
    tell(&load, now_ns() - begin_ns);
    return 0;
}
