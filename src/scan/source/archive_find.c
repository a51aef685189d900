/* archive_find.c - looks for the decoders' program. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive_find.h"
#include "sys.h"

#include <weir/error.h>

#include "banned.h"

#ifndef WEIR_LIBEXEC_FOLDER
#error "the build says where weir-unpack is installed to"
#endif

/* Whether it is in the folder: 0, or NotFound. */
static int try_folder(struct weir__buffer *path, const char *folder, const char *below)
{
    struct stat st;
    weir__buffer_truncate(path, 0);
    int error = weir__buffer_printf(path, "%s%s/" WEIR__ARCHIVE_PROGRAM, folder, below);
    if (error)
        return error;
    if (weir__sys_fstatat(AT_FDCWD, weir__buffer_text(path), &st, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR ? -WEIR_E_NOT_FOUND
                                                   : weir_error_from_errno(errno);
    return S_ISREG(st.st_mode) && (st.st_mode & 0111) ? 0 : -WEIR_E_NOT_FOUND;
}

/* The folder of the running program. */
static int own_folder(char folder[PATH_MAX])
{
    ssize_t length = weir__sys_readlinkat(AT_FDCWD, "/proc/self/exe", folder, PATH_MAX - 1);
    if (length < 0)
        return weir_error_from_errno(errno);
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        return -WEIR_E_NOT_FOUND;
    *slash = '\0';
    return 0;
}

int weir__archive_find(struct weir__buffer *ret_path)
{
    char folder[PATH_MAX];
    const char *wanted = secure_getenv(WEIR__ARCHIVE_FOLDER);
    weir__buffer_init(ret_path, 2 * PATH_MAX);
    if (wanted && *wanted)
        return try_folder(ret_path, wanted, "");
    int error = own_folder(folder);
    if (!error)
        error = try_folder(ret_path, folder, "");
    if (error == -WEIR_E_NOT_FOUND)
        error = try_folder(ret_path, folder, "/../libexec/weir");
    if (error == -WEIR_E_NOT_FOUND)
        error = try_folder(ret_path, WEIR_LIBEXEC_FOLDER, "");
    return error;
}
