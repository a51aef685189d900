/* chunks.c - a file taken apart, for tests: its chunks and nodes as files, the root on standard
 * output.
 *
 *     chunks FILE FOLDER [SIZE]
 *
 * Writes each chunk and each node of the manifest to FOLDER, under its address. With a size, chunks
 * have that many bytes; otherwise they are cut by content. Prints the root and the length. Whatever
 * goes wrong ends it with status 1.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/error.h>

#include "stream_in.h"

static int put(void *arg, const void *bytes, size_t length, const struct weir__address *address)
{
    const int *folder = arg;
    char name[WEIR__ADDRESS_TEXT];
    weir__address_print(address, name);
    int fd = openat(*folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -WEIR_E_IO;
    ssize_t written = write(fd, bytes, length);
    return close(fd) == 0 && written == (ssize_t)length ? 0 : -WEIR_E_IO;
}

int main(int argc, char **argv)
{
    static struct weir__stream_in stream;
    struct weir__stream_in_options options = {0};
    struct weir_deadline deadline = weir_deadline_in(WEIR_NEVER, NULL);
    struct weir__address root;
    char text[WEIR__ADDRESS_TEXT];
    uint64_t length;
    if (argc < 3 || argc > 4)
        return 1;
    int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    int folder = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct weir__chunk_sink sink = {put, &folder};
    if (argc == 4)
        options.fixed_size = (size_t)strtoull(argv[3], NULL, 10);
    if (file < 0 || folder < 0 || weir__stream_in_init(&stream, &options, &sink) ||
        weir__stream_in_fd(&stream, file, &deadline) ||
        weir__stream_in_finish(&stream, &root, &length))
        return 1;
    weir__stream_in_fini(&stream);
    close(folder);
    close(file);
    weir__address_print(&root, text);
    printf("%s %" PRIu64 "\n", text, length);
    return 0;
}
