/* key_default.h - where a person's key is when nobody says where.
 *
 * weir/key in XDG_CONFIG_HOME, which is ~/.config unless it is set to an absolute path.
 *
 * Ownership: the path is written to the caller's memory.
 */
#ifndef WEIR_CLI_KEY_DEFAULT_H
#define WEIR_CLI_KEY_DEFAULT_H

#include <weir/defs.h>

#define WEIR__KEY_PATH_SIZE 4096u /* with NUL */

/* 0; NotFound: there is no home to look in; TooLarge: its path does not fit. What is wrong is told.
 */
WEIR_MUST_USE int weir__key_default(char path[WEIR__KEY_PATH_SIZE]);

#endif
