/* scan_list.c - hands out the paths: those of the command line, then those of a list.
 *
 * A list is read as a stream, and no faster than its names are taken.
 */
#include "scan_part.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define BLOCK 65536u

struct list {
    struct weir__scan_worker *w;
    const char *name;
    int fd;
    char end;
    char *block;
    size_t used, next;
    struct weir__buffer line;
};

/* The next line, without its end. 1, 0 at the end, or -1: told. */
static int read_line(struct list *list)
{
    weir__buffer_truncate(&list->line, 0);
    for (;;) {
        if (list->next == list->used) {
            ssize_t n = weir__sys_read(list->fd, list->block, BLOCK);
            if (weir__scan_is_stopped(list->w))
                return 0;
            if (n < 0) {
                weir__scan_tell(list->w, list->name, "cannot read", NULL);
                return -1;
            }
            if (n == 0)
                return weir__buffer_length(&list->line) > 0;
            list->used = (size_t)n;
            list->next = 0;
        }
        const char *from = list->block + list->next;
        size_t left = list->used - list->next;
        const char *stop = memchr(from, list->end, left);
        size_t length = stop ? (size_t)(stop - from) : left;
        list->next += length + (stop != NULL);
        if (weir__buffer_append(&list->line, from, length) < 0) {
            weir__scan_tell(list->w, list->name, "cannot read", "a line is longer than 1 MiB");
            return -1;
        }
        if (stop)
            return 1;
    }
}

static bool send_path(struct weir__scan_worker *w, enum weir__job_kind kind, const char *path)
{
    struct weir__job *job = weir__job_new(kind, path, strlen(path), 0);
    if (!job) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return true;
    }
    if (weir__job_send(w->run, job) == 0)
        return true;
    weir__job_free(job);
    return false;
}

static void send_list(struct weir__scan_worker *w, const char *name, bool from0)
{
    bool is_input = strcmp(name, "-") == 0;
    struct list list = {.w = w, .name = name, .end = from0 ? '\0' : '\n'};
    list.fd = is_input ? STDIN_FILENO : weir__sys_openat(AT_FDCWD, name, O_RDONLY, 0);
    if (list.fd < 0) {
        weir__scan_tell(w, name, "cannot open", NULL);
        return;
    }
    list.block = weir__base_alloc(1, BLOCK);
    weir__buffer_init(&list.line, WEIR__SCAN_PATH_MAX);
    if (!list.block)
        weir__scan_tell(w, name, "cannot read", weir_error_text(WEIR_E_NO_MEMORY));
    while (list.block && !weir__scan_is_stopped(w) && read_line(&list) > 0)
        if (weir__buffer_length(&list.line) > 0 &&
            !send_path(w, WEIR__JOB_LISTED, weir__buffer_text(&list.line)))
            break;
    weir__buffer_fini(&list.line);
    weir__base_free(list.block);
    if (!is_input)
        weir__sys_close(list.fd);
}

int weir__scan_list_main(struct weir_crew_self *self, void *arg)
{
    (void)self;
    struct weir__scan_worker *w = arg;
    const struct weir__scan_options *options = w->run->options;
    bool goes_on = true;
    for (size_t i = 0; i < options->paths_count && goes_on; i++)
        goes_on = send_path(w, WEIR__JOB_PATH, options->paths[i]);
    if (options->files_from && goes_on)
        send_list(w, options->files_from, options->from0);
    weir__scan_count(w);
    weir__job_done(w->run);
    return 0;
}
