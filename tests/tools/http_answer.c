/* http_answer.c - the server of src/http with the least handler there is, to be measured:
 *
 *     http-answer ADDRESS FOLDER NAME,NAME... [CERTIFICATE KEY]
 *
 * GET / is a few bytes from memory, GET /NAME a file of the folder, which is opened once and kept.
 * Prints the address, and ends when its standard input does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

#define FILES_MAX 64

static struct {
    char name[64];
    int fd;
    uint64_t length;
} files[FILES_MAX];
static size_t files_count;

static void load(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || files_count == FILES_MAX)
        exit(2);
    snprintf(files[files_count].name, sizeof(files[0].name), "/%s", name);
    files[files_count].fd = fd;
    files[files_count++].length = (uint64_t)st.st_size;
}

static void begin(struct weir__exchange *x)
{
    const char *path = weir__exchange_path(x);
    if (strcmp(path, "/") == 0) {
        weir__reply_begin(x, 200);
        weir__reply_header(x, "Content-Type", "text/plain");
        weir__reply_bytes(x, "hello\n", 6, NULL, NULL);
        weir__reply_send(x);
        return;
    }
    for (size_t i = 0; i < files_count; i++)
        if (strcmp(path, files[i].name) == 0) {
            const struct weir__reply_file file = {.fd = files[i].fd, .length = files[i].length};
            weir__reply_begin(x, 200);
            weir__reply_header(x, "Content-Type", "application/octet-stream");
            weir__reply_header(x, "Accept-Ranges", "bytes");
            weir__reply_header(x, "ETag", "\"b3:0123456789abcdef\"");
            weir__reply_file(x, &file);
            weir__reply_send(x);
            return;
        }
    weir__reply_error(x, -WEIR_E_NOT_FOUND, NULL, 0);
}

static void never(struct weir__exchange *x)
{
    weir__reply_error(x, -WEIR_E_INTERNAL, NULL, 0);
}

int main(int argc, char **argv)
{
    const struct weir__handler handler = {.begin = begin, .whole = never, .resume = never};
    struct weir__server_options options = {.handler = &handler};
    struct weir__server *server;
    const char *why = "";
    char byte;
    if (argc != 4 && argc != 6)
        return 2;
    for (char *name = strtok(argv[3], ","); name; name = strtok(NULL, ","))
        load(argv[2], name);
    if (weir_crew_new(&options.crew, "answer", NULL) < 0 ||
        weir__server_new(&server, &options, &why) < 0 ||
        weir__server_listen(server, &(struct weir__listen){.address = argv[1], .is_tls = argc == 6},
                            &why) < 0 ||
        (argc == 6 && weir__server_tls(server, argv[4], argv[5], &why) < 0) ||
        weir__server_start(server) < 0) {
        fprintf(stderr, "http-answer: %s\n", why);
        return 2;
    }
    printf("%s\n", weir__server_address(server, 0));
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    const struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    weir__server_drain(server, &deadline);
    weir_crew_drain(options.crew, NULL);
    weir__server_free(server);
    weir_crew_free(options.crew);
    return 0;
}
