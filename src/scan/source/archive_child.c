/* archive_child.c - the process in which decoders run.
 *
 * It opens everything that it will ever need, gives up the right to open anything, greets its
 * parent, and then does one walk per command until the socket ends. Decoders that load something
 * while they work (tables of character sets, the time zone) must find it loaded.
 */
#include <errno.h>
#include <iconv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "archive_lib.h"

#include "archive_child.h"
#include "archive_confine.h"
#include "archive_process.h"
#include "archive_read.h"
#include "sys.h"

#include <weir/error.h>

#include "banned.h"

/* Names in these are met in archives of other systems; their tables are files that are loaded when
 * first asked for and stay while somebody has them open. A name in another one ends the child, and
 * is told. */
static const char *const charsets[] = {"CP437",  "CP850",  "CP852",     "CP866",    "CP932",
                                       "CP936",  "CP949",  "CP950",     "CP1250",   "CP1251",
                                       "CP1252", "EUC-JP", "SHIFT_JIS", "UTF-16BE", "UTF-16LE"};

static void warm_up(void)
{
    wchar_t wide[8];
    char byte;
    time_t moment = 0;
    struct tm parts;
    /* The kind of characters alone: with messages in it, strerror() would look for a catalogue. */
    setlocale(LC_CTYPE, "C.UTF-8");
    mbstowcs(wide, "\xc3\xa4", sizeof(wide) / sizeof(wide[0]));
    setenv("TZ", "UTC0", 1);
    tzset();
    localtime_r(&moment, &parts);
    mktime(&parts);
    for (size_t i = 0; i < sizeof(charsets) / sizeof(charsets[0]); i++)
        (void)iconv_open("UTF-8", charsets[i]);
    if (getrandom(&byte, 1, 0) != 1)
        errno = 0; /* it is only asked so that it has been asked */
    struct archive *archive = archive_read_new();
    if (archive)
        archive_read_free(archive);
}

static int send_message(void *arg, const char *message, size_t length)
{
    struct iovec part = {(void *)(uintptr_t)message, length};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    (void)arg;
    ssize_t sent = WEIR__SYS(ssize_t, sendmsg(WEIR__ARCHIVE_SOCKET, &head, MSG_NOSIGNAL));
    return sent == (ssize_t)length ? 0 : -WEIR_E_CLOSED;
}

/* The next command, with the file as descriptor WEIR__ARCHIVE_FILE, the lowest that is free, and
 * the one to spill to as the next. */
static bool receive(struct weir__archive_command *command)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {command, sizeof(*command)};
    struct msghdr head = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    int fds[2] = {-1, -1};
    ssize_t got = WEIR__SYS(ssize_t, recvmsg(WEIR__ARCHIVE_SOCKET, &head, MSG_CMSG_CLOEXEC));
    const struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&head) : NULL;
    if (rights && rights->cmsg_type == SCM_RIGHTS) {
        size_t size = rights->cmsg_len - CMSG_LEN(0);
        memcpy(fds, CMSG_DATA(rights), size < sizeof(fds) ? size : sizeof(fds));
    }
    return got == (ssize_t)sizeof(*command) && command->magic == WEIR__ARCHIVE_MAGIC &&
           command->left_out_count <= WEIR__ARCHIVE_RESTARTS_MAX && fds[0] == WEIR__ARCHIVE_FILE &&
           fds[1] == (command->has_spill ? WEIR__ARCHIVE_SPILL : -1);
}

static int serve(struct weir__archive_giver *giver)
{
    struct weir__archive_command command;
    while (receive(&command)) {
        int error = 0;
        if (command.verb == WEIR__ARCHIVE_TRY) {
            weir__archive_giver_start(giver, command.walk);
            int answer = weir__archive_confine_try((enum weir__archive_trial)command.what);
            error = weir__archive_give_unscanned(giver, "", answer == 0 ? "0" : "not refused");
            if (!error)
                error = weir__archive_give_done(giver);
        } else {
            error = weir__archive_trip_run(&command, WEIR__ARCHIVE_FILE,
                                           command.has_spill ? WEIR__ARCHIVE_SPILL : -1, giver);
        }
        weir__sys_close(WEIR__ARCHIVE_FILE);
        if (command.has_spill)
            weir__sys_close(WEIR__ARCHIVE_SPILL);
        if (error)
            return 1;
    }
    return 0;
}

int weir__archive_child_main(int argc, char **argv)
{
    struct weir__archive_giver giver;
    if (argc != 4)
        return 2;
    uint64_t memory_max = strtoull(argv[1], NULL, 10), spill_max = strtoull(argv[2], NULL, 10);
    bool has_no_seccomp = strchr(argv[3], WEIR__ARCHIVE_NO_SECCOMP);
    bool may_run_unconfined = strchr(argv[3], WEIR__ARCHIVE_MAY_RUN);
    int error = weir__archive_confine_limits(memory_max, spill_max);
    if (weir__archive_giver_init(&giver, send_message, NULL) != 0)
        return 1;
    if (!error) {
        warm_up();
        error = has_no_seccomp ? ENOSYS : weir__archive_confine_calls();
        if (may_run_unconfined)
            error = 0;
    }
    weir__archive_giver_start(&giver, 0);
    int status = 1;
    if (weir__archive_give_hello(&giver, error) == 0 && !error)
        status = serve(&giver);
    weir__archive_giver_fini(&giver);
    /* Without what runs at the end of a program: it may not be able to do its work any more. */
    _exit(status);
}
