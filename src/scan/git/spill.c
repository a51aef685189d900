/* spill.c - writing, but for zeros. */
#include "spill.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "sys.h"
#include "temporary.h"

#include "banned.h"

const char weir__git_spill_unopened[] =
    "no temporary file can be made for it: free space, or set TMPDIR";

static bool is_zero(const uint8_t *bytes, size_t length)
{
    return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

int weir__git_spill_write(int file, const void *bytes, size_t length, uint64_t at)
{
    return is_zero(bytes, length) ? 0 : weir__whole_pwrite(file, bytes, length, at);
}

int weir__git_spill_end(int file, uint64_t length)
{
    return weir__sys_ftruncate(file, (off_t)length) < 0 ? weir_error_from_errno(errno) : 0;
}

const char *weir__git_spill_why(void)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
               ? "its temporary file has no room: free space, or set TMPDIR"
               : "its temporary file cannot be written";
}
