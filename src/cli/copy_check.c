/* copy_check.c - conflicts between options, rules in their order, names of users. */
#include "copy_check.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "cover.h"
#include "filter.h"
#include "log.h"
#include "meta.h"
#include "sys.h"

#include "banned.h"

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

static bool deletes(const struct weir__copy_values *v)
{
    return v->delete_any || v->delete_before || v->delete_after || v->copy.delete_excluded;
}

static const char *check_comparison(const struct weir__copy_options *o)
{
    if (o->checksum && o->size_only)
        return "'--checksum' compares content and '--size-only' does not: choose one";
    if (o->checksum && o->ignore_times)
        return "'--checksum' compares content and '--ignore-times' copies all: choose one";
    if (o->size_only && o->ignore_times)
        return "'--size-only' and '--ignore-times' contradict each other: choose one";
    if (o->size_min > o->size_max)
        return "'--min-size' is above '--max-size': no file would be copied";
    if (o->keep_dst_links && !o->in_place)
        return "'--keep-links' is about '--inplace': other files are replaced, links and all";
    return NULL;
}

static const char *check_deletion(const struct weir__copy_values *v)
{
    if (v->delete_before && v->delete_after)
        return "'--delete-before' and deleting after the copying contradict each other: choose one";
    if (!deletes(v) && v->copy.delete_max != UINT64_MAX)
        return "'--max-delete' is about '--delete': nothing is deleted without";
    if (!deletes(v) && v->copy.delete_despite_errors)
        return "'--ignore-errors' is about '--delete': nothing is deleted without";
    if (v->reflink == WEIR__REFLINK_ALWAYS && v->sparse != WEIR__SPARSE_KEEP)
        return "'--reflink=always' shares the source's blocks, holes and all: leave out '--sparse'";
    if (deletes(v) && v->copy.files_from)
        return "'--delete' with '--files-from' would delete all that is not in the list: choose "
               "one";
    if (deletes(v) && !v->copy.recursive)
        return "'--delete' needs '--recursive'";
    return NULL;
}

static const char *check_printing(const struct weir__copy_values *v)
{
    if (v->quiet && (v->verbose || v->itemize || v->json || v->stats))
        return "'--quiet' prints errors alone: leave out '--verbose', '--itemize-changes', "
               "'--json' and '--stats'";
    if (v->quiet && v->progress == WEIR__COPY_PROGRESS_ALWAYS)
        return "'--quiet' and '--progress' contradict each other: choose one";
    return NULL;
}

static bool is_from_file(const struct weir__option *option)
{
    return strcmp(option->name, "exclude-from") == 0 || strcmp(option->name, "include-from") == 0;
}

/* Standard input can be read once. */
static const char *check_input(const struct weir__copy_values *v)
{
    unsigned readers = v->copy.files_from && strcmp(v->copy.files_from, "-") == 0;
    for (size_t i = 0; i < v->rules.count; i++)
        readers += is_from_file(v->rules.from[i]) && strcmp(v->rules.items[i], "-") == 0;
    return readers > 1 ? "only one of '--files-from', '--exclude-from' and '--include-from' can "
                         "read standard input"
                       : NULL;
}

/* HOST:NAME, HOST::NAME or rsync://HOST/NAME: a colon before any slash. What is there under the
 * first part of the name is local, whatever it looks like. */
static bool looks_remote(const char *operand)
{
    char first[NAME_MAX + 1];
    struct stat st;
    size_t length = strcspn(operand, "/");
    if (!memchr(operand, ':', length))
        return false;
    if (length > NAME_MAX)
        return true;
    snprintf(first, sizeof(first), "%.*s", (int)length, operand);
    return weir__sys_fstatat(AT_FDCWD, first, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int check_local(char **operands, int operands_count)
{
    for (int i = 0; i < operands_count; i++) {
        if (!looks_remote(operands[i]))
            continue;
        weir__log(WEIR__LOG_ERROR,
                  "'%s' looks like a name on another machine, and copies are local: for a local "
                  "name write './%s'",
                  WEIR__TYPED(operands[i]), WEIR__TYPED(operands[i]));
        return -WEIR_E_USAGE;
    }
    return 0;
}

static int check(const struct weir__copy_values *v, int operands_count)
{
    const char *why = check_comparison(&v->copy);
    why = why ? why : check_deletion(v);
    why = why ? why : check_printing(v);
    why = why ? why : check_input(v);
    if (!why && v->copy.files_from && operands_count != 2)
        why = "'--files-from' has names in one source: give one";
    return why ? refuse(why) : 0;
}

static int add_rules(struct weir__copy_plan *plan, const struct weir__copy_values *v)
{
    if (v->rules.count == 0)
        return 0;
    int result = weir__filter_new(&plan->_filter);
    for (size_t i = 0; i < v->rules.count && result == 0; i++) {
        const struct weir__option *option = v->rules.from[i];
        const char *text = v->rules.items[i];
        enum weir__verdict verdict =
            option->name[0] == 'e' ? WEIR__FILTER_EXCLUDE : WEIR__FILTER_INCLUDE;
        result = is_from_file(option)
                     ? weir__filter_add_file(plan->_filter, verdict, text, v->copy.from0)
                     : weir__filter_add(plan->_filter, verdict, text);
        if (result < 0)
            weir__log(WEIR__LOG_ERROR, "option '--%s': %s", option->name,
                      weir__filter_problem(plan->_filter));
    }
    if (result < 0 && !plan->_filter)
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(result));
    plan->options.filter = plan->_filter;
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

static int add_chmod(struct weir__copy_plan *plan, const struct weir__copy_values *v)
{
    for (size_t i = 0; i < v->chmod.count; i++) {
        const char *text = v->chmod.items[i], *problem = NULL;
        int result = plan->_chmod ? weir__chmod_add(plan->_chmod, text, &problem)
                                  : weir__chmod_new(&plan->_chmod, text, &problem);
        if (result < 0) {
            weir__log(WEIR__LOG_ERROR, "option '--chmod': '%s': %s", WEIR__TYPED(text),
                      problem ? problem : weir_error_text(result));
            return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
        }
    }
    plan->options.chmod = plan->_chmod;
    return 0;
}

static int add_chown(struct weir__copy_plan *plan, const struct weir__copy_values *v)
{
    struct weir__copy_options *o = &plan->options;
    const char *problem = NULL;
    if (!v->chown)
        return 0;
    int result = weir__chown_parse(v->chown, &o->has_uid, &o->uid, &o->has_gid, &o->gid, &problem);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "option '--chown': '%s': %s", WEIR__TYPED(v->chown),
                  problem ? problem : weir_error_text(result));
    return result == -WEIR_E_INVALID || result == -WEIR_E_NOT_FOUND ? -WEIR_E_USAGE : result;
}

int weir__copy_plan_init(struct weir__copy_plan *plan, const struct weir__copy_values *values,
                         char **operands, int operands_count)
{
    *plan = (struct weir__copy_plan){.options = values->copy};
    struct weir__copy_options *o = &plan->options;
    o->sources = (const char *const *)operands;
    o->sources_count = (size_t)operands_count - 1;
    o->destination = operands[operands_count - 1];
    /* As with rsync: what is in a listed directory is copied if -r is given, and -a is not enough.
     */
    o->recursive = o->recursive && (!o->files_from || values->has_recursive);
    o->sparse = (enum weir__sparse)values->sparse;
    o->reflink = (enum weir__reflink)values->reflink;
    o->fsync = (enum weir__fsync)values->fsync;
    o->data_path = (enum weir__data_path)values->data_path;
    o->threads = (unsigned)values->threads;
    if (deletes(values))
        o->delete_when = values->delete_before ? WEIR__DELETE_BEFORE : WEIR__DELETE_AFTER;
    int result = check(values, operands_count);
    if (result == 0)
        result = check_local(operands, operands_count);
    if (result == 0)
        result = add_chmod(plan, values);
    if (result == 0)
        result = add_chown(plan, values);
    if (result == 0)
        result = add_rules(plan, values);
    return result;
}

void weir__copy_plan_fini(struct weir__copy_plan *plan)
{
    weir__filter_free(plan->_filter);
    weir__chmod_free(plan->_chmod);
    plan->_filter = NULL;
    plan->_chmod = NULL;
}
