/* log.h - what a program says to people on standard error: "weir copy: cannot open 'a': reason".
 *
 * Promises: a line is one write(2), so lines of several threads never mix; a line above
 * WEIR__LOG_LINE_MAX bytes is cut and ends in "..."; control characters, which file names may
 * contain, are shown as escapes and cannot drive the terminal; what is named as a secret is hidden
 * (cover.h). Errors to write are ignored: there is nowhere left to report them.
 *
 * The subject, the level and the filter are set before threads start and not changed afterwards.
 *
 * Ownership: strings passed in are copied or used before the call returns, except the subject's
 * parts, which must live as long as the program.
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <weir/defs.h>

#define WEIR__LOG_LINE_MAX 2048

enum weir__log_level { WEIR__LOG_ERROR, WEIR__LOG_WARNING, WEIR__LOG_INFO, WEIR__LOG_DEBUG };

/* Lines begin with "PROGRAM COMMAND: ", or "PROGRAM: " when command is NULL. */
void weir__log_subject(const char *program, const char *command);

/* Lines of this level and more serious ones appear; WEIR__LOG_INFO at start. */
void weir__log_threshold(enum weir__log_level level);

/* Lines are objects of JSON, {"time", "level", "subject", "message"}; text at start. */
void weir__log_as_json(bool is_json);

/* Every message of weir__log() goes through this before it is shown, with its length unchanged: for
 * programs that handle what must not be in a log. It may be called by several threads at once, and
 * must not log. NULL: none. */
void weir__log_filter(void (*filter)(char *message));

/* Standard error may be a pipe, a terminal or a socket that is full and that nobody reads: from
 * here on a line waits for room only as long as is_wanted says 0, and then for half a second at
 * most; it is lost then. For the rest of the program. Called before there are threads. */
void weir__log_hurry(int (*is_wanted)(void));

/* To standard error as it is, for what may be lost as well: after weir__log_hurry() it does not
 * wait for room. False: not all of it was written, and errno says why. */
bool weir__log_courtesy(const char *text, size_t length);

/* From here on a progress line may stand on the terminal: lines wipe it before they are shown. */
void weir__log_over_progress(bool progress);

__attribute__((format(printf, 2, 3))) void weir__log(enum weir__log_level level, const char *format,
                                                     ...);

/* The line that weir__log() would write, without color. Returns its length; text is NUL-ended. */
__attribute__((format(printf, 3, 4))) size_t weir__log_format(char text[WEIR__LOG_LINE_MAX],
                                                              enum weir__log_level level,
                                                              const char *format, ...);

/* strerror() as it stands in a message: it starts in lower case. Valid until the next call in this
 * thread. */
const char *weir__log_reason(int errno_value);

#endif
