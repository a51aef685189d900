/* data_folder.h - where a service keeps what is its own, when nobody says where.
 *
 * root: /var/lib/weir/storage; others: weir/storage in XDG_DATA_HOME, which is ~/.local/share
 * unless it is set to an absolute path. Of the index the last part is "index".
 *
 * Ownership: the path is written to the caller's memory.
 */
#ifndef WEIR_BASE_DATA_FOLDER_H
#define WEIR_BASE_DATA_FOLDER_H

#include <weir/defs.h>

#define WEIR__DATA_PATH_SIZE 4096 /* with NUL: no path that the system takes is longer */

/* 0; NotFound: there is no home to put it in; TooLarge: its path does not fit. */
WEIR_MUST_USE int weir__data_default(char path[WEIR__DATA_PATH_SIZE]);
WEIR_MUST_USE int weir__data_default_index(char path[WEIR__DATA_PATH_SIZE]);

/* The same by what the environment has, for tests. */
WEIR_MUST_USE int weir__data_default_of(char path[WEIR__DATA_PATH_SIZE], const char *service,
                                        bool is_root, const char *data_home, const char *home);

#endif
