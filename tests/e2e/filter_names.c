/* filter_names.c - which of the given paths a copy would take.
 *
 *     filter-names rules [-0] [--include=P | --exclude=P | --include-from=F | --exclude-from=F]...
 *     filter-names ignore ROOT     reads the .gitignore files below ROOT
 *
 * Standard input has the paths of a tree, each ended with NUL, directories with a slash behind
 * them, every directory followed by what is in it. Those that are taken are written in the same
 * way. What is below a directory that was left out is not asked for, as in a walk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter.h"
#include "ignore.h"

#include "banned.h"

#define DEPTH_MAX 64
#define INPUT_MAX (4u << 20)

static char input[INPUT_MAX];

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
    fprintf(stderr, "filter-names: %s: %s\n", what, why);
    exit(2);
}

static size_t read_into(int fd, char *bytes, size_t size)
{
    size_t used = 0;
    for (ssize_t count; (count = read(fd, bytes + used, size - used)) != 0; used += (size_t)count)
        if (count < 0 || used + (size_t)count == size)
            die("input", "cannot be read, or is too large");
    return used;
}

static struct weir__filter *make_filter(char **arguments)
{
    static const char *const names[] = {
        "--include=", "--exclude=", "--include-from=", "--exclude-from="};
    struct weir__filter *filter;
    bool with_nul = false;
    if (weir__filter_new(&filter) != 0)
        die("rules", "no memory");
    for (; *arguments; arguments++) {
        int error = -WEIR_E_USAGE;
        if (strcmp(*arguments, "-0") == 0) {
            with_nul = true;
            continue;
        }
        for (int i = 0; i < 4; i++) {
            size_t length = strlen(names[i]);
            const char *value = *arguments + length;
            enum weir__verdict verdict = i % 2 ? WEIR__FILTER_EXCLUDE : WEIR__FILTER_INCLUDE;
            if (strncmp(*arguments, names[i], length) != 0)
                continue;
            error = i < 2 ? weir__filter_add(filter, verdict, value)
                          : weir__filter_add_file(filter, verdict, value, with_nul);
        }
        if (error)
            die(weir_error_name(error), weir__filter_problem(filter));
    }
    return filter;
}

/* The .gitignore files on the way down, each with the directory that it lies in. */
static struct {
    struct weir__ignore *at[DEPTH_MAX];
    char *dir[DEPTH_MAX];
    size_t count;
} ignores;

static void enter_directory(const char *root, const char *dir)
{
    static char text[WEIR__IGNORE_FILE_MAX + 1];
    char *path;
    if (asprintf(&path, "%s/%s/.gitignore", root, dir) < 0)
        die("ignore", "no memory");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return;
    size_t length = read_into(fd, text, sizeof(text)), n = ignores.count;
    close(fd);
    struct weir__ignore *above = n > 0 ? ignores.at[n - 1] : NULL;
    if (n == DEPTH_MAX)
        die("ignore", "too deep");
    int error = weir__ignore_new(&ignores.at[n], above, dir, text, length);
    ignores.dir[n] = strdup(dir);
    if (error || !ignores.dir[n])
        die("ignore", weir_error_name(error));
    ignores.count++;
}

/* Forgets the files of directories that the path is not below of; "" forgets all. */
static void leave_directories(const char *path)
{
    while (ignores.count > 0) {
        size_t last = ignores.count - 1, length = strlen(ignores.dir[last]);
        if (path[0] &&
            (length == 0 || (strncmp(path, ignores.dir[last], length) == 0 && path[length] == '/')))
            return;
        weir__ignore_free(ignores.at[last]);
        free(ignores.dir[last]);
        ignores.count--;
    }
}

static bool is_taken(const struct weir__filter *filter, const char *root, const char *path,
                     bool is_dir)
{
    if (filter) {
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        const char *given = weir__filter_needs_path(filter) ? path : NULL;
        return weir__filter_match(filter, given, name, is_dir) != WEIR__FILTER_EXCLUDE;
    }
    leave_directories(path);
    const struct weir__ignore *inner = ignores.count > 0 ? ignores.at[ignores.count - 1] : NULL;
    if (weir__ignore_is_ignored(inner, path, is_dir))
        return false;
    if (is_dir)
        enter_directory(root, path);
    return true;
}

int main(int argc, char **argv)
{
    struct weir__filter *filter = NULL;
    const char *root = NULL, *left_out = NULL;
    if (argc >= 2 && strcmp(argv[1], "rules") == 0)
        filter = make_filter(argv + 2);
    else if (argc == 3 && strcmp(argv[1], "ignore") == 0)
        root = argv[2];
    else
        die("usage", "filter-names rules OPTION... | ignore ROOT");
    size_t length = read_into(STDIN_FILENO, input, sizeof(input));
    if (root)
        enter_directory(root, "");
    for (size_t at = 0; at < length;) {
        char *path = input + at;
        size_t path_length = strlen(path);
        bool is_dir = path_length > 0 && path[path_length - 1] == '/';
        at += path_length + 1;
        if (left_out && strncmp(path, left_out, strlen(left_out)) == 0 &&
            path[strlen(left_out)] == '/')
            continue;
        path[path_length - is_dir] = '\0';
        if (is_taken(filter, root, path, is_dir))
            printf("%s%s%c", path, is_dir ? "/" : "", '\0');
        else if (is_dir)
            left_out = path;
    }
    leave_directories("");
    weir__filter_free(filter);
    return fflush(stdout) == 0 ? 0 : 2;
}
