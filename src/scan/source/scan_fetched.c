/* scan_fetched.c - what somebody else brings: URLs and stored objects.
 *
 * The tokens of a file come before the connection, and stay until the last byte was scanned. What
 * comes is a pipe, so it goes the way that standard input goes.
 */
#include "scan_part.h"

#include "sys.h"

#include "banned.h"

static void tell(struct weir__scan_worker *w, const struct weir__scan_fetch *fetch)
{
    const char *path = weir__buffer_text(&w->path);
    if (fetch->is_partial)
        weir__scan_tell_partial(w, path, fetch->what, fetch->why);
    else
        weir__scan_tell(w, path, fetch->what, fetch->why);
}

static void fetch_it(struct weir__scan_worker *w, const char *path)
{
    const struct weir__scan_fetcher *fetcher = w->run->options->fetcher;
    struct weir__scan_fetch fetch = {.fd = -1, .what = "cannot fetch"};
    int result = fetcher->open(fetcher->arg, path, &w->run->stop, &fetch);
    if (result < 0) {
        if (!weir__scan_is_stopped(w))
            tell(w, &fetch);
        return;
    }
    bool was_read = weir__scan_stream_admitted(w, fetch.fd);
    result = fetcher->close(fetcher->arg, &fetch, was_read);
    if (result < 0 && was_read && !weir__scan_is_stopped(w))
        tell(w, &fetch);
}

void weir__scan_fetched(struct weir__scan_worker *w, const char *path)
{
    const struct weir__scan_fetcher *fetcher = w->run->options->fetcher;
    WEIR_CLEANUP(weir__scan_tokens_release)
    struct weir__scan_tokens tokens = WEIR__SCAN_TOKENS_NONE;
    weir__buffer_truncate(&w->path, 0);
    int result = fetcher->show(fetcher->arg, path, &w->path);
    if (result < 0) { /* the path itself may have a password in it */
        weir__scan_tell(w, "URL", "cannot scan", weir_error_text(result));
        return;
    }
    if (weir__scanner_skips(w->scanner, weir__buffer_text(&w->path)))
        w->counts.allowed_paths++;
    else if (weir__scan_admit(w, &tokens))
        fetch_it(w, path);
}
