/* TLS, spoken with openssl's own client library through curl and openssl s_client. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "serving.h"

static char folder[] = "/tmp/weir-tls-XXXXXX";

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A command of the shell; true when it succeeds. */
static bool run(const char *format, ...)
{
    char command[2048];
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    extern char **environ;
    va_list args;
    int status = -1;
    pid_t child;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    CHECK_EQ(posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void make_certificate(const char *name)
{
    CHECK(run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
              "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout %s/%s.key -out "
              "%s/%s.pem 2>/dev/null",
              folder, name, folder, name));
}

static int use(const char *cert, const char *key, const char **ret_why)
{
    char cert_file[128], key_file[128];
    snprintf(cert_file, sizeof(cert_file), "%s/%s", folder, cert);
    snprintf(key_file, sizeof(key_file), "%s/%s", folder, key);
    return weir__server_tls(serving.server, cert_file, key_file, ret_why);
}

static void begin_tls(const struct weir__server_options *options)
{
    const struct weir__listen listen = {.address = "127.0.0.1:0", .is_tls = true};
    const char *why = "";
    signal(SIGPIPE, SIG_IGN);
    memcpy(folder, "/tmp/weir-tls-XXXXXX", sizeof(folder));
    CHECK(mkdtemp(folder));
    make_certificate("one");
    make_certificate("two");
    serving_begin(options);
    CHECK_EQ(weir__server_listen(serving.server, &listen, &why), 1);
    CHECK_EQ(weir__server_start(serving.server), -WEIR_E_INVALID); /* without a certificate */
    CHECK_EQ(use("one.pem", "one.key", &why), 0);
    CHECK_EQ(weir__server_start(serving.server), 0);
}

static void end_tls(void)
{
    serving_end();
    CHECK(run("rm -r %s", folder));
}

#define CURL "curl -sS --cacert %s/one.pem "

TEST(answers_over_tls)
{
    struct stat st;
    char path[128];
    begin_tls(NULL);
    const char *address = weir__server_address(serving.server, 1);
    CHECK(run(CURL "https://%s/hello | grep -qx hello", folder, address));
    CHECK(run(CURL "https://%s/file?1-3145727 -o %s/got", folder, address, folder));
    snprintf(path, sizeof(path), "%s/got", folder);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_size, 3145727);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *got = malloc(3145727);
    CHECK_EQ(read(fd, got, 3145727), 3145727);
    for (size_t i = 0; i < 3145727; i++)
        if (got[i] != PATTERN(i + 1))
            tap_fail(__FILE__, __LINE__, "byte %zu is another one", i);
    free(got);
    close(fd);
    CHECK(run(CURL "https://%s/large?8388608 | wc -c | grep -qx 8388608", folder, address));
    CHECK(run("head -c 900000 /dev/urandom > %s/body; " CURL "--data-binary @%s/body "
              "https://%s/echo | cmp - %s/body",
              folder, folder, folder, address, folder));
    CHECK(run(CURL "-H 'Transfer-Encoding: chunked' --data-binary @%s/body https://%s/echo "
                   "https://%s/multi?40 https://%s/later https://%s/slowly?20 > /dev/null",
              folder, folder, address, address, address, address));
    SERVING_AWAIT(serving_stats().handshakes >= 5);
    end_tls();
}

TEST(only_what_is_safe_is_spoken)
{
    begin_tls(NULL);
    const char *address = weir__server_address(serving.server, 1);
    CHECK(run("printf 'GET /hello HTTP/1.0\\r\\n\\r\\n' | timeout 10 openssl s_client -quiet "
              "-tls1_2 -connect %s -ign_eof 2>/dev/null | grep -q hello",
              address));
    CHECK(run("timeout 10 openssl s_client -alpn h2,http/1.1 -connect %s </dev/null 2>/dev/null | "
              "grep -q 'ALPN protocol: http/1.1'",
              address));
    CHECK(!run("timeout 10 openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect %s "
               "</dev/null >/dev/null 2>&1",
               address));
    /* Plain text on it is an error of the handshake, and nothing worse. */
    CHECK(!run("curl -sS http://%s/hello >/dev/null 2>&1", address));
    SERVING_AWAIT(serving_stats().handshakes_failed >= 2);
    CHECK(run(CURL "https://%s/hello | grep -qx hello", folder, address));
    end_tls();
}

TEST(certificates_are_exchanged_while_it_runs)
{
    const char *why = "";
    begin_tls(NULL);
    const char *address = weir__server_address(serving.server, 1);
    CHECK_EQ(use("two.pem", "one.key", &why), -WEIR_E_INVALID);
    CHECK_HAS(why, "one.key");
    CHECK_EQ(use("none.pem", "one.key", &why), -WEIR_E_INVALID);
    CHECK_HAS(why, "none.pem");
    CHECK(run(CURL "https://%s/hello | grep -qx hello", folder, address)); /* the old one stays */
    CHECK_EQ(use("two.pem", "two.key", &why), 0);
    CHECK(run("curl -sS --cacert %s/two.pem https://%s/hello | grep -qx hello", folder, address));
    CHECK(!run(CURL "https://%s/hello >/dev/null 2>&1", folder, address));
    end_tls();
}

/* Each says which file, what is wrong with it, and what to do. */
TEST(files_that_are_no_good_are_explained)
{
    static const struct {
        const char *cert, *key, *told[3];
    } rows[] = {
        {"none.pem",
         "one.key",
         {"certificate '", "/none.pem': there is no such file: set tls.cert"}},
        {"one.pem",
         "none.key",
         {"private key '", "/none.key': there is no such file: set tls.key"}},
        {"one.pem/x", "one.key", {"/one.pem/x': there is no such file"}},
        {".", "one.key", {"certificate '", "it is a directory: set tls.cert to a file in it"}},
        {"one.pem", ".", {"private key '", "it is a directory: set tls.key to a file in it"}},
        {"one.key", "one.key", {"/one.key': no certificate as PEM is in it"}},
        {"empty", "one.key", {"/empty': no certificate as PEM is in it"}},
        {"one.der", "one.key", {"/one.der': no certificate as PEM is in it", "'openssl'"}},
        {"one.pem", "one.pem", {"/one.pem': no private key as PEM is in it: set tls.key"}},
        {"one.pem", "empty", {"/empty': no private key as PEM is in it"}},
        {"damaged.pem", "one.key", {"/damaged.pem': it is damaged, or"}},
        {"one.pem", "two.key", {"/two.key': it does not belong to the certificate '", "/one.pem'"}},
        {"one.pem", "rsa.key", {"/rsa.key': it does not belong to the certificate '", "/one.pem'"}},
        {"one.pem", "locked.key", {"/locked.key': it is encrypted", "'openssl pkey'"}},
        {"one.pem", "old.key", {"/old.key': it is encrypted", "'openssl pkey'"}},
    };
    const char *why = "";
    begin_tls(NULL);
    CHECK(run("cd %s && : >empty && openssl x509 -in one.pem -outform DER -out one.der && "
              "sed '3s/......../@@@@@@@@/' one.pem >damaged.pem && "
              "openssl genpkey -algorithm RSA -out rsa.key 2>/dev/null && "
              "openssl pkcs8 -topk8 -in one.key -out locked.key -passout pass:x && "
              "openssl ec -in one.key -aes128 -out old.key -passout pass:x 2>/dev/null",
              folder));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_EQ(use(rows[i].cert, rows[i].key, &why), -WEIR_E_INVALID);
        CHECK_HAS(why, "cannot use the ");
        for (size_t k = 0; k < 3 && rows[i].told[k]; k++)
            CHECK_HAS(why, rows[i].told[k]);
        CHECK(!strchr(why, '\n'));
    }
    CHECK(run("cd %s && cp one.pem closed.pem && chmod 0 closed.pem", folder));
    bool is_root = geteuid() == 0;
    CHECK(!is_root || seteuid(65534) == 0);
    int result = use("closed.pem", "one.key", &why);
    CHECK(!is_root || seteuid(0) == 0);
    CHECK_EQ(result, -WEIR_E_INVALID);
    CHECK_HAS(why, "': it may not be read: give the user");
    end_tls();
}

/* openssl knows an end that was told from one that was not. */
#define ASK  "printf 'GET %s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | "
#define HEAR "timeout 20 openssl s_client -quiet -ign_eof -connect %s >/dev/null 2>&1"

TEST(ends_are_told_and_cuts_are_not)
{
    const struct weir__server_limits short_idle = {.idle_ns = WEIR_NS_PER_S / 20};
    begin_tls(NULL);
    const char *address = weir__server_address(serving.server, 1);
    CHECK(!run(ASK HEAR, "/file?3145000-100000", address)); /* the file ends too early */
    SERVING_AWAIT(serving_stats().truncated == 1);
    CHECK_EQ(weir__server_update(serving.server, &short_idle), 0);
    CHECK(run(ASK HEAR, "/hello", address)); /* idle, and closed for that */
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_IDLE] == 1);
    end_tls();
}

TEST(handshakes_have_a_deadline_and_refusals_are_told)
{
    const struct weir__server_options options = {
        .limits = {.read_ns = WEIR_NS_PER_S / 2, .connections_max = 1}};
    begin_tls(&options);
    const char *address = weir__server_address(serving.server, 1);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_HANDSHAKE] == 1);
    close(fd);
    fd = dial(); /* the one that may be there */
    say(fd, KEEP("/hold"));
    struct weir__exchange *x = serving_held();
    CHECK(run(CURL "-o /dev/null -w '%%{http_code}' https://%s/hello | grep -qx 429", folder,
              address));
    weir__exchange_post(x);
    struct answer answer = hear_one(fd, false);
    CHECK_STR(answer.body, "later\n");
    answer_free(&answer);
    close(fd);
    end_tls();
}

TEST(a_handshake_that_was_not_begun_is_no_work)
{
    begin_tls(NULL);
    const char *address = weir__server_address(serving.server, 1);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    SERVING_AWAIT(serving_stats().accepted == 1);
    CHECK_EQ(serving_drain(WEIR_NS_PER_S / 20), 0); /* it is cut, and nothing is lost by that */
    CHECK_EQ(serving_stats().cut, 0);
    CHECK_EQ(serving_stats().drained, 1);
    close(fd);
    end_tls();
}

TEST(who_has_said_nothing_when_a_drain_ends_is_told)
{
    begin_tls(NULL);
    CHECK(run("timeout 20 openssl s_client -quiet -ign_eof -connect %s </dev/null >%s/said "
              "2>/dev/null &",
              weir__server_address(serving.server, 1), folder));
    SERVING_AWAIT(serving_stats().handshakes == 1);
    CHECK_EQ(serving_drain(WEIR_NS_PER_S / 20), 0);
    CHECK_EQ(serving_stats().cut, 0);
    CHECK(run("for i in $(seq 200); do grep -q '\"Draining\"' %s/said && exit; sleep 0.1; done; "
              "exit 1",
              folder));
    end_tls();
}

TAP_MAIN()
