/* scan_setup.c - files of configuration, rules, engine. */
#include "scan_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "engine/rules_pack.h"
#include "log.h"
#include "suggest.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define RULES_BYTES    (16u << 20)
#define IGNORE_BYTES   (64u << 20)
#define BASELINE_BYTES (256u << 20)
#define BLOCK          65536u

/* --- files --- */

static int cannot_read(const char *path, const char *why)
{
    weir__log(WEIR__LOG_ERROR, "cannot read '%s': %s", WEIR__CLIPPED(path), why);
    return -WEIR_E_INCOMPLETE;
}

static int read_open(int fd, const char *path, struct weir__buffer *buffer)
{
    char *block = weir__base_alloc(1, BLOCK);
    int result = block ? 0 : -WEIR_E_NO_MEMORY;
    ssize_t n = 0;
    while (result == 0 && (n = weir__sys_read(fd, block, BLOCK)) > 0)
        result = weir__buffer_append(buffer, block, (size_t)n);
    weir__base_free(block);
    if (n < 0)
        return cannot_read(path, weir__log_reason(errno));
    if (result == -WEIR_E_OVERFLOW)
        return cannot_read(path, "it is too large for such a file");
    return result < 0 ? cannot_read(path, weir_error_text(result)) : 0;
}

int weir__scan_read_text(const char *path, size_t max, bool is_optional, char **ret_text,
                         size_t *ret_length)
{
    struct weir__buffer buffer;
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0 && errno == ENOENT && is_optional)
        return -WEIR_E_NOT_FOUND;
    if (fd < 0)
        return cannot_read(path, weir__log_reason(errno));
    weir__buffer_init(&buffer, max);
    int result = read_open(fd, path, &buffer);
    weir__sys_close(fd);
    size_t length = weir__buffer_length(&buffer);
    char *text = result == 0 ? weir__base_alloc(1, length + 1) : NULL;
    if (text) {
        memcpy(text, weir__buffer_text(&buffer), length);
        *ret_text = text;
        *ret_length = length;
    } else if (result == 0) {
        result = cannot_read(path, weir_error_text(WEIR_E_NO_MEMORY));
    }
    weir__buffer_fini(&buffer);
    return result;
}

/* --- rules --- */

/* What [extend] asks for. Paths are those of the current folder. */
static int read_extended(void *arg, const char *path, char **ret_text, size_t *ret_length)
{
    (void)arg;
    if (path)
        return weir__scan_read_text(path, RULES_BYTES, false, ret_text, ret_length);
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
                     size_t length)
{
    struct weir__rules_reader reader = {.read = read_extended};
    struct weir__rules_error error = {.text = ""};
    int result = weir__rules_load(ret_rules, name, text, length, &reader, &error);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

int weir__scan_load_rules(struct weir__rules **ret_rules, const char *path, bool with_examples)
{
    size_t length;
    char *text;
    if (!path && with_examples) {
        const char *builtin = weir__rules_builtin_text(&length);
        return load_text(ret_rules, "built-in", builtin, length);
    }
    int result;
    if (!path) {
        result = weir__rules_builtin(ret_rules);
        if (result < 0)
            weir__log(WEIR__LOG_ERROR, "cannot use the built-in rules: %s",
                      weir_error_text(result));
        return result;
    }
    result = weir__scan_read_text(path, RULES_BYTES, false, &text, &length);
    if (result < 0)
        return result;
    result = load_text(ret_rules, path, text, length);
    weir__base_free(text);
    return result;
}

int weir__scan_unknown_rule(const struct weir__rules *rules, const char *id)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (size_t i = 0; i < rules->rules_count; i++)
        weir__suggest_offer(&suggestion, id, rules->rules[i].id);
    if (suggestion.word[0] != '\0')
        weir__log(WEIR__LOG_ERROR, "there is no rule '%s': did you mean '%s'?", WEIR__CLIPPED(id),
                  suggestion.word);
    else
        weir__log(WEIR__LOG_ERROR, "there is no rule '%s': 'weir rules list' shows those there are",
                  WEIR__CLIPPED(id));
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

static bool is_here(const char *path)
{
    struct stat here, there;
    if (path[0] != '/' && !leads_up(path))
        return true;
    return weir__sys_fstatat(AT_FDCWD, ".", &here, 0) == 0 &&
           weir__sys_fstatat(AT_FDCWD, path, &there, 0) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
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

/* The name of a file that is there, kept by the setup; NULL: it is not. */
static const char *find_file(struct weir__scan_setup *setup, const char *folder, const char *name)
{
    struct stat st;
    struct weir__buffer path;
    const char *found = NULL;
    if (!folder || setup->_count == WEIR__SCAN_CONFIGS_MAX)
        return NULL;
    weir__buffer_init(&path, 65536);
    bool is_plain = strcmp(folder, ".") == 0;
    if (weir__buffer_printf(&path, "%s%s%s", is_plain ? "" : folder, is_plain ? "" : "/", name) ==
            0 &&
        weir__sys_fstatat(AT_FDCWD, weir__buffer_text(&path), &st, 0) == 0 && S_ISREG(st.st_mode)) {
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

/* --- what is known --- */

static int read_ignore(struct weir__scan_setup *setup, const char *path)
{
    char *text;
    size_t length;
    unsigned line = 0;
    int result = weir__scan_read_text(path, IGNORE_BYTES, false, &text, &length);
    if (result < 0)
        return result;
    result = weir__findings_ignore(setup->findings, text, length, &line);
    weir__base_free(text);
    if (result == 0) {
        add_config(setup, path);
        return 0;
    }
    if (result == -WEIR_E_INVALID)
        weir__log(WEIR__LOG_ERROR,
                  "%s:%u: not a fingerprint: it is 32 hexadecimal digits or 'path:rule:line'", path,
                  line);
    else
        weir__log(WEIR__LOG_ERROR, "cannot use '%s': %s", WEIR__CLIPPED(path),
                  weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

static int read_baseline(struct weir__scan_setup *setup, const char *path)
{
    char *text, reason[160] = "";
    size_t length;
    int result = weir__scan_read_text(path, BASELINE_BYTES, false, &text, &length);
    if (result < 0)
        return result;
    result = weir__findings_baseline(setup->findings, text, length, reason, sizeof(reason));
    weir__base_free(text);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot use the baseline '%s': %s", WEIR__CLIPPED(path),
                  reason[0] ? reason : weir_error_text(result));
    else
        add_config(setup, path);
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

static int init_findings(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                         const char *folder)
{
    static const char *const names[] = {".weirignore", ".gitleaksignore"};
    struct weir__findings_options options = {.bytes_max = wishes->findings_bytes,
                                             .show_secrets = wishes->show_secrets};
    int result = weir__findings_new(&setup->findings, &options);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(result));
        return result;
    }
    if (wishes->ignore_file)
        result = read_ignore(setup, wishes->ignore_file);
    for (size_t i = 0; i < 2 && result == 0 && !wishes->ignore_file; i++) {
        const char *path = find_file(setup, folder, names[i]);
        if (path)
            result = read_ignore(setup, path);
    }
    if (result == 0 && wishes->baseline)
        result = read_baseline(setup, wishes->baseline);
    return result;
}

/* --- the whole --- */

static int init_rules(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes,
                      const char *folder)
{
    const char *config = wishes->config;
    if (!config)
        config = find_file(setup, folder, ".weir.toml");
    if (!config)
        config = find_file(setup, folder, ".gitleaks.toml");
    int result = weir__scan_load_rules(&setup->rules, config, false);
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
        if (!weir__rules_find(setup->rules, *id))
            return weir__scan_unknown_rule(setup->rules, *id);
    return 0;
}

static int init_engine(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes)
{
    struct weir__rules_error error = {.text = ""};
    weir__cache_init(&setup->cache, getenv("XDG_CACHE_HOME"), getenv("HOME"));
    weir__cache_add_installed(&setup->cache, WEIR_RULES_FOLDER);
    struct weir__engine_options options = {
        .cache = weir__cache_hooks(&setup->cache),
        .only = wishes->only,
        .ignore_allow_comments = wishes->ignore_allow_comments,
    };
    int result = weir__engine_new(&setup->engine, setup->rules, &options, &error);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

int weir__scan_setup_init(struct weir__scan_setup *setup, const struct weir__scan_wishes *wishes)
{
    *setup = (struct weir__scan_setup){.cache = {._fd = -1, ._installed = -1}};
    const char *folder = folder_of(wishes);
    int result = init_rules(setup, wishes, folder);
    if (result == 0)
        result = init_findings(setup, wishes, folder);
    return result < 0 ? result : init_engine(setup, wishes);
}

void weir__scan_setup_fini(struct weir__scan_setup *setup)
{
    weir__findings_free(setup->findings);
    weir__engine_free(setup->engine);
    weir__rules_free(setup->rules);
    weir__cache_fini(&setup->cache);
    for (size_t i = 0; i < setup->_count; i++)
        weir__base_free(setup->_names[i]);
}
