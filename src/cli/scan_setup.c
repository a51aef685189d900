/* scan_setup.c - files of configuration, rules, engine. */
#include "scan_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "engine/rules_pack.h"
#include "log.h"
#include "program.h"
#include "report/known.h"
#include "scan_hush.h"
#include "scan_known.h"
#include "suggest.h"
#include "sys.h"

#include "banned.h"

#define RULES_BYTES (16u << 20)
#define BLOCK       65536u
#define PATH_SIZE   256u

/* --- files --- */

static int cannot_read(const char *path, const char *why)
{
    weir__log(WEIR__LOG_ERROR, "cannot read '%s': %s", WEIR__TYPED(path), why);
    return -WEIR_E_INCOMPLETE;
}

static const char too_large[] = "it is too large for such a file";

/* 0, or an error with the reason. */
static int read_open(int fd, struct weir__buffer *buffer, const char **ret_why)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size > weir__buffer_max(buffer)) {
        *ret_why = too_large; /* which one need not read it for */
        return -WEIR_E_INCOMPLETE;
    }
    char *block = weir__base_alloc(1, BLOCK);
    int result = block ? 0 : -WEIR_E_NO_MEMORY;
    ssize_t n = 0;
    while (result == 0 && (n = weir__sys_read(fd, block, BLOCK)) > 0)
        result = weir__buffer_append(buffer, block, (size_t)n);
    weir__base_free(block);
    if (result == 0 && n == 0)
        return 0;
    *ret_why = n < 0                        ? weir__log_reason(errno)
               : result == -WEIR_E_OVERFLOW ? too_large
                                            : weir_error_text(result);
    return -WEIR_E_INCOMPLETE;
}

static bool is_standard_input(const char *path, enum weir__scan_source source)
{
    return source == WEIR__SCAN_GIVEN && strcmp(path, "-") == 0;
}

/* Of what the user did not name nothing may keep us waiting: others may have put it there. */
int weir__scan_open_text(const char *path, enum weir__scan_source source, const char **ret_why)
{
    struct stat st;
    int flags = source == WEIR__SCAN_GIVEN ? 0 : O_NONBLOCK;
    if (is_standard_input(path, source))
        return STDIN_FILENO;
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY | flags, 0);
    *ret_why = fd < 0 ? weir__log_reason(errno) : NULL;
    if (fd >= 0 && flags && (weir__sys_fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode))) {
        *ret_why = "it is a pipe, and must be a file; only an option can name a pipe";
        weir__sys_close_at(&fd);
    }
    return fd;
}

/* The same as below, without the line. */
static int read_quietly(const char *path, size_t max, enum weir__scan_source source,
                        char **ret_text, size_t *ret_length, const char **ret_why)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, max);
    int fd = weir__scan_open_text(path, source, ret_why);
    int result = fd < 0 ? -WEIR_E_INCOMPLETE : read_open(fd, &buffer, ret_why);
    if (!is_standard_input(path, source))
        weir__sys_close(fd);
    if (result < 0)
        return result;
    size_t length = weir__buffer_length(&buffer);
    char *text = weir__base_alloc(1, length + 1);
    if (!text) {
        *ret_why = weir_error_text(WEIR_E_NO_MEMORY);
        return -WEIR_E_INCOMPLETE;
    }
    memcpy(text, weir__buffer_text(&buffer), length);
    *ret_text = text;
    *ret_length = length;
    return 0;
}

int weir__scan_read_text(const char *path, size_t max, enum weir__scan_source source,
                         char **ret_text, size_t *ret_length)
{
    const char *why = NULL;
    int result = read_quietly(path, max, source, ret_text, ret_length, &why);
    return result < 0 ? cannot_read(path, why) : 0;
}

/* --- rules --- */

/* What [extend] asks for, and why it could not be had. Paths are those of the current folder. */
struct extended {
    char path[PATH_SIZE];
    const char *why;
};

static int read_extended(void *arg, const char *path, char **ret_text, size_t *ret_length)
{
    struct extended *extended = arg;
    if (path) {
        weir__cover_clip(extended->path, sizeof(extended->path), path, SIZE_MAX);
        return read_quietly(path, RULES_BYTES, WEIR__SCAN_FOUND, ret_text, ret_length,
                            &extended->why);
    }
    size_t length;
    const char *text = weir__rules_builtin_text(&length);
    char *copy = weir__base_alloc(1, length + 1);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    memcpy(copy, text, length);
    *ret_text = copy;
    *ret_length = length;
    return 0;
}

static int load_text(struct weir__rules **ret_rules, const char *name, const char *text,
                     size_t length, bool with_examples)
{
    struct extended extended = {.why = NULL};
    struct weir__rules_packed packed = weir__rules_builtin_packed();
    struct weir__rules_reader reader = {
        .read = read_extended,
        .arg = &extended,
        .packed = with_examples ? NULL : &packed,
    };
    struct weir__rules_error error = {.text = ""};
    int result = weir__rules_load(ret_rules, name, text, length, &reader, &error);
    if (result < 0 && extended.why)
        weir__log(WEIR__LOG_ERROR, "%s: [extend]: cannot read '%s': %s", WEIR__TYPED(name),
                  extended.path, extended.why);
    else if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

int weir__scan_load_rules(struct weir__rules **ret_rules, const char *path,
                          enum weir__scan_source source, bool with_examples)
{
    size_t length;
    char *text;
    if (!path && with_examples) {
        const char *builtin = weir__rules_builtin_text(&length);
        return load_text(ret_rules, "built-in", builtin, length, true);
    }
    int result;
    if (!path) {
        result = weir__rules_builtin(ret_rules);
        if (result < 0)
            weir__log(WEIR__LOG_ERROR, "cannot use the built-in rules: %s",
                      weir_error_text(result));
        return result;
    }
    result = weir__scan_read_text(path, RULES_BYTES, source, &text, &length);
    if (result < 0)
        return result;
    result = load_text(ret_rules, path, text, length, with_examples);
    weir__base_free(text);
    return result;
}

int weir__scan_unknown_rule(const struct weir__rules *rules, const char *id)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (size_t i = 0; i < rules->rules_count; i++)
        weir__suggest_offer(&suggestion, id, rules->rules[i].id);
    weir__cover_id(suggestion.word); /* it is that of a file, or nearly what was typed */
    if (suggestion.word[0] != '\0')
        weir__log(WEIR__LOG_ERROR, "there is no rule '%s': did you mean '%s'?", WEIR__TYPED(id),
                  suggestion.word);
    else
        weir__log(WEIR__LOG_ERROR, "there is no rule '%s': 'weir rules list' shows those there are",
                  WEIR__TYPED(id));
    return -WEIR_E_USAGE;
}

/* --- which files --- */

static bool leads_up(const char *path)
{
    for (; *path; path += strcspn(path, "/"), path += *path == '/')
        if (strcspn(path, "/") == 2 && path[0] == '.' && path[1] == '.')
            return true;
    return false;
}

static bool is_same_folder(const char *path)
{
    struct stat here, there;
    return weir__sys_fstatat(AT_FDCWD, ".", &here, 0) == 0 &&
           weir__sys_fstatat(AT_FDCWD, path, &there, 0) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* What is behind a folder in a path of something in it, both without links; NULL: it is not in it.
 */
static const char *behind_folder(const char *folder, const char *path)
{
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(path, folder, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    return path + length + (path[length] == '/');
}

static bool is_plain(const char *path)
{
    return path[0] != '/' && !leads_up(path);
}

/* Whether a path is in the current folder, links followed: one that lies there may lead out of it.
 * Of what cannot be resolved, as it is not there, the name decides. */
static bool is_here(const char *path)
{
    char here[PATH_MAX], whole[PATH_MAX];
    if (is_same_folder(path))
        return true;
    if (realpath(".", here) && realpath(path, whole))
        return behind_folder(here, whole);
    return is_plain(path);
}

/* The folder whose files of configuration apply; NULL: none. */
static const char *folder_of(const struct weir__scan_wishes *wishes)
{
    bool is_inside = !wishes->is_elsewhere;
    struct stat st;
    for (size_t i = 0; i < wishes->paths_count && is_inside; i++)
        is_inside = is_here(wishes->paths[i]);
    if (wishes->trust_config && wishes->paths_count == 1 &&
        weir__sys_fstatat(AT_FDCWD, wishes->paths[0], &st, 0) == 0 && S_ISDIR(st.st_mode))
        return wishes->paths[0];
    return is_inside || wishes->trust_config ? "." : NULL;
}

/* The files of configuration, those of rules first. */
static const char *const config_names[] = {".weir.toml", ".gitleaks.toml", ".weirignore",
                                           ".gitleaksignore"};

/* Whether a folder has a file of configuration that an option has not replaced. */
static bool has_config(const struct weir__scan_wishes *wishes, const char *folder)
{
    struct stat st;
    bool has = false;
    int fd = weir__sys_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
    for (size_t i = wishes->config ? 2 : 0; i < (wishes->ignore_file ? 2 : 4) && !has; i++)
        has = fd >= 0 && weir__sys_fstatat(fd, config_names[i], &st, 0) == 0;
    weir__sys_close(fd);
    return has;
}

/* Of several trees each may have its own files, and there is one set of rules in a run. */
static int check_trusted(const struct weir__scan_wishes *wishes)
{
    for (size_t i = 0; i < wishes->paths_count && wishes->trust_config && wishes->paths_count > 1;
         i++)
        if (!is_same_folder(wishes->paths[i]) && has_config(wishes, wishes->paths[i])) {
            weir__log(WEIR__LOG_ERROR,
                      "--trust-config: '%s' has files of configuration, which would be used for "
                      "the other paths too; scan it by itself, or name files by --config and "
                      "--ignore-file",
                      WEIR__TYPED(wishes->paths[i]));
            return -WEIR_E_USAGE;
        }
    return 0;
}

/* The name of a file that is there, kept by the setup; NULL: it is not. */
static const char *find_file(struct weir__scan_setup *setup, const char *folder, const char *name)
{
    struct stat st;
    struct weir__buffer path;
    const char *found = NULL;
    if (!folder || setup->_count == WEIR__SCAN_CONFIGS_MAX)
        return NULL;
    weir__buffer_init(&path, 65536);
    bool is_current = strcmp(folder, ".") == 0;
    if (weir__buffer_printf(&path, "%s%s%s", is_current ? "" : folder, is_current ? "" : "/",
                            name) == 0 &&
        weir__sys_fstatat(AT_FDCWD, weir__buffer_text(&path), &st, 0) == 0) {
        size_t size = weir__buffer_length(&path) + 1;
        char *copy = weir__base_alloc(1, size);
        if (copy) {
            memcpy(copy, weir__buffer_text(&path), size);
            setup->_names[setup->_count++] = copy;
            found = copy;
        }
    }
    weir__buffer_fini(&path);
    return found;
}

static void add_config(struct weir__scan_setup *setup, const char *name)
{
    for (size_t i = 0; i < WEIR__SCAN_CONFIGS_MAX; i++)
        if (!setup->configs[i]) {
            setup->configs[i] = name;
            return;
        }
}

/* --- how paths are shown --- */

/* Takes off the names that both end with, as long as what is left is still that folder: of
 * "/x/i/sub/a" and "sub/a" stay "/x/i" and "". Many paths then have one beginning. */
static void shorten(char *shown, char *inside, const char *folder)
{
    char whole[PATH_MAX], wanted[PATH_MAX];
    char *end = strrchr(shown, '/'), *last = strrchr(inside, '/');
    const char *name = last ? last + 1 : inside;
    while (end && end != shown && name[0] != '\0' && strcmp(end + 1, name) == 0) {
        *end = '\0';
        size_t length = last ? (size_t)(last - inside) : 0;
        int size =
            snprintf(wanted, sizeof(wanted), "%s%s%.*s", strcmp(folder, "/") == 0 ? "" : folder,
                     length > 0 ? "/" : "", (int)length, inside);
        bool is_it = size > 0 && size < (int)sizeof(wanted) && realpath(shown, whole) &&
                     strcmp(whole, wanted[0] ? wanted : "/") == 0;
        if (!is_it) {
            *end = '/';
            return;
        }
        inside[length] = '\0';
        end = strrchr(shown, '/');
        last = strrchr(inside, '/');
        name = last ? last + 1 : inside;
    }
}

/* Whether what is in it is shown as the current folder has it. */
static bool is_tidy(const char *path)
{
    for (path = weir__path_plain(path); *path; path += *path == '/') {
        size_t length = strcspn(path, "/");
        if (length == 0 || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += length;
    }
    return true;
}

/* One path that is scanned: 0, or why what it has in it is looked at as it is shown alone. */
static int add_shown(struct weir__origin *origin, const char *folder, const char *path)
{
    char whole[PATH_MAX], shown[PATH_MAX], inside[PATH_MAX];
    if (!realpath(path, whole))
        return 0; /* what is not there has nothing in it */
    const char *rest = behind_folder(folder, whole);
    path = weir__path_plain(path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (!rest || length == 0 || length >= sizeof(shown))
        return 0;
    memcpy(shown, path, length);
    shown[length] = '\0';
    memcpy(inside, rest, strlen(rest) + 1);
    shorten(shown, inside, folder);
    return strcmp(shown, inside) == 0 ? 0 : weir__origin_add(origin, shown, inside);
}

/* How a folder, and what is scanned of it, is shown. */
static int find_origin(struct weir__origin *origin, const struct weir__scan_wishes *wishes,
                       const char *folder)
{
    char whole[PATH_MAX];
    if (!folder || wishes->is_elsewhere || !realpath(folder, whole))
        return 0;
    bool is_current = strcmp(folder, ".") == 0;
    int result = weir__origin_add(origin, whole, "");
    for (size_t i = 0; i < wishes->paths_count && result == 0; i++)
        if (!is_current || !is_tidy(wishes->paths[i]))
            result = add_shown(origin, whole, wishes->paths[i]);
    if (result == -WEIR_E_TOO_LARGE) {
        weir__log(WEIR__LOG_WARNING,
                  "the paths have more than %u different beginnings: entries of files of "
                  "configuration are compared with some of them only as they are shown",
                  WEIR__ORIGIN_MAX);
        result = 0;
    }
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(result));
    return result;
}

static int init_origins(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                        const char *folder)
{
    bool has_given = wishes->config || wishes->ignore_file || wishes->baseline;
    bool has_found = folder && has_config(wishes, folder);
    int result = has_given ? find_origin(&setup->here, wishes, ".") : 0;
    return result == 0 && has_found ? find_origin(&setup->there, wishes, folder) : result;
}

static int read_ignore(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                       const char *path, enum weir__scan_source source)
{
    int result = weir__scan_read_ignore(setup->findings, path, source, wishes->text_bytes);
    if (result == 0)
        add_config(setup, path);
    return result;
}

static int init_findings(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                         const char *folder)
{
    struct weir__findings_options options = {.show_secrets = wishes->show_secrets,
                                             .given_origin = &setup->here,
                                             .found_origin = &setup->there};
    int result = weir__findings_new(&setup->findings, &options);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(result));
        return result;
    }
    if (wishes->ignore_file)
        result = read_ignore(setup, wishes, wishes->ignore_file, WEIR__SCAN_GIVEN);
    for (size_t i = 2; i < 4 && result == 0 && !wishes->ignore_file; i++) {
        const char *path = find_file(setup, folder, config_names[i]);
        if (path)
            result = read_ignore(setup, wishes, path, WEIR__SCAN_FOUND);
    }
    if (result == 0 && wishes->baseline) {
        result = weir__scan_read_baseline(setup->findings, wishes->baseline);
        if (result == 0)
            add_config(setup, wishes->baseline);
    }
    return result;
}

/* --- the whole --- */

static int init_rules(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                      const char *folder)
{
    const char *config = wishes->config;
    for (size_t i = 0; i < 2 && !config; i++)
        config = find_file(setup, folder, config_names[i]);
    int result = weir__scan_load_rules(&setup->rules, config,
                                       wishes->config ? WEIR__SCAN_GIVEN : WEIR__SCAN_FOUND, false);
    if (result < 0)
        return result;
    for (size_t i = 0; config && i < setup->rules->files.count; i++) /* also those it extends */
        add_config(setup, setup->rules->files.items[i]);
    for (size_t i = 0; config && i < setup->rules->notes.count; i++)
        weir__log(WEIR__LOG_WARNING, "%s", setup->rules->notes.items[i]);
    if (setup->rules->rules_count == 0) {
        weir__log(WEIR__LOG_ERROR,
                  "%s: there are no rules in it, so nothing would be looked for; add rules, or the "
                  "built-in ones by useDefault = true under [extend]",
                  config ? config : "rules");
        return -WEIR_E_USAGE;
    }
    for (const char *const *id = wishes->only; id && *id; id++)
        if (!weir__rules_next(setup->rules, *id, NULL))
            return weir__scan_unknown_rule(setup->rules, *id);
    return 0;
}

int weir__scan_setup_init(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes)
{
    *setup = (struct weir__scan_setup){.cache = {._fd = -1, ._installed = -1}};
    const char *folder = folder_of(wishes);
    int result = check_trusted(wishes);
    if (result == 0)
        result = init_origins(setup, wishes, folder);
    if (result == 0)
        result = init_rules(setup, wishes, folder);
    if (result == 0)
        result = init_findings(setup, wishes, folder);
    return result;
}

/* While rules are compiled, which nothing can interrupt, signals end the program. A file that is
 * being written would stay there, half of it: from here on they wait. */
static void put_kept(void *arg, const char *key, const char *bytes, size_t length)
{
    struct weir__scan_setup *setup = arg;
    const struct weir__engine_cache *hooks = &setup->cache.hooks;
    char *kept = NULL;
    size_t kept_length;
    weir__program_catch_signals();
    hooks->put(hooks->arg, key, bytes, length);
    /* Whether it is there is seen by looking: after all that was done, it costs nothing. */
    setup->is_kept = hooks->get(hooks->arg, key, &kept, &kept_length) == 0;
    weir__base_free(kept);
}

static int get_kept(void *arg, const char *key, char **ret_bytes, size_t *ret_length)
{
    const struct weir__scan_setup *setup = arg;
    return setup->cache.hooks.get(setup->cache.hooks.arg, key, ret_bytes, ret_length);
}

int weir__scan_setup_engine(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes)
{
    struct weir__rules_error error = {.text = ""};
    weir__cache_init(&setup->cache, getenv("XDG_CACHE_HOME"), getenv("HOME"));
    weir__cache_add_installed(&setup->cache, WEIR_RULES_FOLDER);
    struct weir__engine_cache hooks = {.get = get_kept, .put = put_kept, .arg = setup};
    struct weir__engine_options options = {
        .cache = weir__cache_hooks(&setup->cache) ? &hooks : NULL,
        .only = wishes->only,
        .ignore_allow_comments = wishes->ignore_allow_comments,
        .origin = wishes->config ? &setup->here : &setup->there,
    };
    int result = weir__engine_new(&setup->engine, setup->rules, &options, &error);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

void weir__scan_setup_hide(struct weir__scan_setup *setup)
{
    for (size_t i = 0; setup->configs[i]; i++) {
        size_t size = strlen(setup->configs[i]) + 1;
        char *shown = weir__base_alloc(1, size);
        if (shown) {
            memcpy(shown, setup->configs[i], size);
            weir__hush_text(shown);
        }
        setup->_shown[i] = shown;
        setup->configs[i] = shown ? shown : "(a name for which there was no memory)";
    }
}

void weir__scan_setup_fini(struct weir__scan_setup *setup)
{
    weir__findings_free(setup->findings);
    weir__engine_free(setup->engine);
    weir__rules_free(setup->rules);
    weir__cache_fini(&setup->cache);
    weir__origin_fini(&setup->here);
    weir__origin_fini(&setup->there);
    for (size_t i = 0; i < setup->_count; i++)
        weir__base_free(setup->_names[i]);
    for (size_t i = 0; i < WEIR__SCAN_CONFIGS_MAX; i++)
        weir__base_free(setup->_shown[i]);
}
