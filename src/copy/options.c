/* options.c - what a copy does unless it is told otherwise: what `cp -a` keeps, no limits on what
 * is copied, the limits of the header on what is in flight. */
#include "copy.h"

#include "banned.h"

void weir__copy_options_init(struct weir__copy_options *options)
{
    *options = (struct weir__copy_options){
        .recursive = true,
        .links = true,
        .perms = true,
        .times = true,
        .owner = true,
        .group = true,
        .devices = true,
        .specials = true,
        .sparse = WEIR__SPARSE_KEEP,
        .size_max = UINT64_MAX,
        .delete_max = UINT64_MAX,
        .bytes_max = WEIR__COPY_BYTES_DEFAULT,
        .dirs_max = WEIR__COPY_DIRS_DEFAULT,
        .large_max = WEIR__COPY_LARGE_DEFAULT,
        .table_bytes = WEIR__COPY_TABLE_BYTES,
    };
}
