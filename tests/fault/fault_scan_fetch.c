/* fault_scan_fetch.c - a scan of URLs and objects in which the n-th allocation, system call or
 * thread start fails.
 *
 * Whatever fails: the run ends, leaks nothing, and answers 0 only if it found everything. What it
 * did not find, it has told.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "scan_fetch.h"
#include "scan_sweep.h"
#include "server_help.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"
#include "token_help.h"

static char url[128], missing[128];

static void scan_once(const char *path, unsigned wanted)
{
    struct weir__scan_options options;
    struct weir__scan_web_options web_options = {.paths = &path,
                                                 .paths_count = 1,
                                                 .bytes_max = WEIR__FETCH_BYTES,
                                                 .timeout_ns = 30 * WEIR_NS_PER_S,
                                                 .version = "test"};
    struct weir__scan_web *web = NULL;
    if (weir__scan_web_new(&web, &web_options) < 0) {
        CHECK(!web);
        return;
    }
    weir__scan_options_init(&options);
    options.engine = engine;
    options.fetcher = weir__scan_web_fetcher(web);
    options.paths = &path;
    options.paths_count = 1;
    sweep_scan(&options, wanted, true);
    weir__scan_web_free(web);
}

static void scan_url(void)
{
    scan_once(url, 2); /* in its name, and in what it says */
}

static void scan_missing(void)
{
    scan_once(missing, 1); /* never found, so never answered with 0 */
}

static void start(void)
{
    if (!help_engine())
        return;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    unsetenv("WEIR_STORE");
    signal(SIGPIPE, SIG_IGN);
    unsigned port = start_server();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/text/a/" TOKEN, port);
    snprintf(missing, sizeof(missing), "http://127.0.0.1:%u/status/404", port);
    scan_url(); /* the library is loaded once, and stays */
    CHECK_EQ(found, 2);
}

static void check(enum weir_fault kind, void (*scenario)(void), long least)
{
    start();
    sweep_cleanly(kind, scenario, least);
}

TEST(allocations)
{
    check(WEIR_FAULT_ALLOC, scan_url, 40);
    check(WEIR_FAULT_ALLOC, scan_missing, 40);
}

TEST(system_calls)
{
    static const int errors[] = {EIO, EMFILE, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, scan_url, 3);
    }
    weir__sys_fault_errno(EIO);
}

TEST(threads)
{
    check(WEIR_FAULT_THREAD, scan_url, 3);
}

TAP_MAIN()
