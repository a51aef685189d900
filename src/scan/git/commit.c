/* commit.c - headers, people and dates. */
#include "commit.h"

#include <stdio.h>
#include <time.h>

#include "banned.h"

#define ZONE_HOURS_MAX 99

__attribute__((cold, format(printf, 2, 3))) static int flaw(char why[WEIR__GIT_FLAW_MAX],
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WEIR__GIT_FLAW_MAX, format, args);
    va_end(args);
    return -WEIR_E_CORRUPT;
}

/* --- headers --- */

int weir__git_header_next(const char *bytes, size_t length, size_t *at,
                          struct weir__git_header *ret_header)
{
    size_t from = *at;
    if (from >= length)
        return 0;
    if (bytes[from] == '\n') {
        *at = from + 1;
        return 0;
    }
    size_t end = from;
    for (;;) {
        const char *found = memchr(bytes + end, '\n', length - end);
        end = found ? (size_t)(found - bytes) : length;
        if (end + 1 >= length || bytes[end + 1] != ' ')
            break;
        end++;
    }
    const char *first = memchr(bytes + from, '\n', end - from);
    size_t first_length = first ? (size_t)(first - bytes) - from : end - from;
    const char *space = memchr(bytes + from, ' ', first_length);
    size_t name_length = space ? (size_t)(space - bytes) - from : first_length;
    size_t value = from + name_length + (space != NULL);
    ret_header->name = (struct weir__git_range){from, name_length};
    ret_header->value = (struct weir__git_range){value, end - value};
    *at = end < length ? end + 1 : length;
    return 1;
}

bool weir__git_range_is(const char *bytes, const struct weir__git_range *range, const char *text)
{
    size_t length = strlen(text);
    return range->length == length && memcmp(bytes + range->offset, text, length) == 0;
}

/* --- people --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits up to the first other byte; false when there are none, or too many for a time. */
static bool take_number(const char *bytes, size_t *at, size_t end, int64_t *ret_number)
{
    int64_t number = 0;
    size_t i = *at;
    for (; i < end && is_digit(bytes[i]); i++) {
        if (number > (INT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (bytes[i] - '0');
    }
    if (i == *at)
        return false;
    *at = i;
    *ret_number = number;
    return true;
}

static void take_zone(struct weir__git_person *person, const char *bytes, size_t at, size_t end)
{
    int64_t number;
    while (at < end && bytes[at] == ' ')
        at++;
    if (at >= end || (bytes[at] != '+' && bytes[at] != '-'))
        return;
    bool is_west = bytes[at++] == '-';
    if (!take_number(bytes, &at, end, &number) || number > ZONE_HOURS_MAX * 100 + 59)
        return;
    int minutes = (int)(number / 100) * 60 + (int)(number % 100);
    person->zone_minutes = is_west ? -minutes : minutes;
}

static struct weir__git_range trimmed(const char *bytes, size_t from, size_t until)
{
    while (from < until && bytes[from] == ' ')
        from++;
    while (until > from && bytes[until - 1] == ' ')
        until--;
    return (struct weir__git_range){from, until - from};
}

void weir__git_person_parse(struct weir__git_person *ret_person, const char *bytes,
                            const struct weir__git_range *value)
{
    struct weir__git_person person = {0};
    size_t from = value->offset, end = from + value->length;
    /* The first '<' begins the mail, and the last '>' ends it: names of old have either in odd
     * places, dates never do. */
    const char *open = memchr(bytes + from, '<', end - from);
    size_t close = end;
    while (close > from && bytes[close - 1] != '>')
        close--;
    size_t left = open ? (size_t)(open - bytes) : close > from ? close : end;
    person.name = trimmed(bytes, from, left);
    if (open && close > left + 1) {
        const char *first = memchr(open, '>', close - left);
        size_t until = first ? (size_t)(first - bytes) : close - 1;
        person.mail = trimmed(bytes, left + 1, until);
    }
    size_t at = close > from ? close : end;
    bool is_negative = false;
    while (at < end && bytes[at] == ' ')
        at++;
    if (at < end && bytes[at] == '-') {
        is_negative = true;
        at++;
    }
    person.has_time = take_number(bytes, &at, end, &person.time);
    if (person.has_time) {
        person.time = is_negative ? -person.time : person.time;
        take_zone(&person, bytes, at, end);
    }
    *ret_person = person;
}

const char *weir__git_person_date(const struct weir__git_person *person,
                                  char text[WEIR__GIT_DATE_SIZE])
{
    /* A year that can be written: what lies beyond was no clock. */
    const int64_t last = INT64_C(253402300799); /* 9999-12-31 */
    int minutes = person->zone_minutes, size = minutes < 0 ? -minutes : minutes;
    struct tm tm;
    text[0] = '\0';
    if (!person->has_time || person->time < -last || person->time > last - 100 * 3600)
        return text;
    time_t shifted = (time_t)(person->time + (int64_t)minutes * 60);
    if (!gmtime_r(&shifted, &tm) || tm.tm_year < -1900)
        return text;
    size_t used = strftime(text, WEIR__GIT_DATE_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + used, WEIR__GIT_DATE_SIZE - used, "%c%02d:%02d", minutes < 0 ? '-' : '+',
             size / 60, size % 60);
    return text;
}

/* --- commits --- */

/* "NAME <id>\n" at *at, which is moved behind it. */
static bool take_id(const char *bytes, size_t length, size_t *at, const char *name, size_t id_size,
                    struct weir__git_id *ret_id)
{
    size_t name_length = strlen(name), whole = name_length + 1 + 2 * id_size + 1;
    if (length - *at < whole)
        return false;
    const char *line = bytes + *at;
    if (memcmp(line, name, name_length) != 0 || line[name_length] != ' ' ||
        line[whole - 1] != '\n' ||
        weir__git_id_from_hex(ret_id, line + name_length + 1, id_size) < 0)
        return false;
    *at += whole;
    return true;
}

static bool has_name(const char *bytes, size_t length, size_t at, const char *name)
{
    size_t name_length = strlen(name);
    return length - at > name_length && memcmp(bytes + at, name, name_length) == 0 &&
           bytes[at + name_length] == ' ';
}

static int take_links(struct weir__git_commit *commit, size_t *at, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id parent;
    if (!take_id(commit->bytes, commit->length, at, "tree", commit->id_size, &commit->tree))
        return flaw(why, "line 1: a commit begins with 'tree' and an id");
    commit->parents_offset = *at;
    while (take_id(commit->bytes, commit->length, at, "parent", commit->id_size, &parent))
        commit->parents_count++;
    if (has_name(commit->bytes, commit->length, *at, "parent"))
        return flaw(why, "line %zu: 'parent' without an id", commit->parents_count + 2);
    return 0;
}

static int take_person(const struct weir__git_commit *commit, size_t *at, const char *name,
                       struct weir__git_person *ret_person, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_header header;
    size_t next = *at;
    if (weir__git_header_next(commit->bytes, commit->length, &next, &header) == 0 ||
        !weir__git_range_is(commit->bytes, &header.name, name))
        return flaw(why, "at byte %zu: no '%s'", *at, name);
    *at = next;
    if (ret_person)
        weir__git_person_parse(ret_person, commit->bytes, &header.value);
    return 0;
}

static int parse(struct weir__git_commit *commit, bool has_author, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_header header;
    size_t at = 0;
    int error = take_links(commit, &at, why);
    if (!error)
        error = take_person(commit, &at, "author", has_author ? &commit->author : NULL, why);
    if (!error)
        error = take_person(commit, &at, "committer", &commit->committer, why);
    if (error || !has_author)
        return error;
    while (weir__git_header_next(commit->bytes, commit->length, &at, &header) > 0)
        if (weir__git_range_is(commit->bytes, &header.name, "encoding"))
            commit->encoding = header.value;
    commit->message = (struct weir__git_range){at, commit->length - at};
    return 0;
}

int weir__git_commit_parse(struct weir__git_commit *ret_commit, const char *bytes, size_t length,
                           size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_commit commit = {.bytes = bytes, .length = length, .id_size = id_size};
    int error = parse(&commit, true, why);
    if (!error)
        *ret_commit = commit;
    return error;
}

int weir__git_commit_parse_links(struct weir__git_commit *ret_commit, const char *bytes,
                                 size_t length, size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_commit commit = {.bytes = bytes, .length = length, .id_size = id_size};
    int error = parse(&commit, false, why);
    if (!error)
        *ret_commit = commit;
    return error;
}

struct weir__git_id weir__git_commit_parent(const struct weir__git_commit *commit, size_t index)
{
    size_t line = strlen("parent ") + 2 * commit->id_size + 1;
    const char *hex = commit->bytes + commit->parents_offset + index * line + strlen("parent ");
    struct weir__git_id id = {{0}};
    int error = weir__git_id_from_hex(&id, hex, commit->id_size);
    (void)error; /* parsing has seen that these are digits */
    return id;
}
