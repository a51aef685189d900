/* commit_about.c - from bytes of a commit to texts for people. */
#include "commit_about.h"

#include <strings.h>

#include "tag_object.h"
#include "text.h"

#include "banned.h"

#define CHARACTER_MAX 4u

/* The next character as UTF-8, ended by NUL; how many bytes it was. */
static size_t next_character(const char *at, size_t left, bool is_latin,
                             char character[CHARACTER_MAX + 1])
{
    unsigned char byte = (unsigned char)at[0];
    size_t length = 1;
    memset(character, 0, CHARACTER_MAX + 1);
    if (is_latin && byte >= 0x80) {
        character[0] = (char)(0xc0 | byte >> 6);
        character[1] = (char)(0x80 | (byte & 0x3f));
        return 1;
    }
    length = weir__text_utf8_length((const unsigned char *)at, left);
    length = length ? length : 1; /* what is no UTF-8 is shown byte by byte */
    memcpy(character, at, length);
    return length;
}

/* What stands there for a character; returns its length. */
static size_t piece_of(char piece[WEIR__TEXT_PIECE_MAX], const char character[CHARACTER_MAX + 1])
{
    if (character[0] != '\0') {
        size_t used = weir__text_escape(piece, character);
        (void)used; /* it is one character */
    } else {
        memcpy(piece, "\\x00", sizeof("\\x00"));
    }
    return strlen(piece);
}

void weir__git_about_text(char *text, size_t size, const char *bytes,
                          const struct weir__git_range *range, bool is_latin)
{
    char character[CHARACTER_MAX + 1], piece[WEIR__TEXT_PIECE_MAX];
    size_t used = 0, fits = 0; /* up to where "..." fits behind it */
    for (size_t at = 0; at < range->length;) {
        at += next_character(bytes + range->offset + at, range->length - at, is_latin, character);
        size_t length = piece_of(piece, character);
        if (used + length >= size) {
            memcpy(text + fits, "...", sizeof("..."));
            return;
        }
        memcpy(text + used, piece, length);
        used += length;
        if (used + sizeof("...") <= size)
            fits = used;
    }
    text[used] = '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The end of the line at `at` without the white space before it. */
static size_t line_end(const char *bytes, size_t at, size_t until, size_t *ret_next)
{
    const char *newline = memchr(bytes + at, '\n', until - at);
    size_t end = newline ? (size_t)(newline - bytes) : until;
    *ret_next = newline ? end + 1 : until;
    while (end > at && is_blank(bytes[end - 1]))
        end--;
    return end;
}

/* The first paragraph in one line; as much of it as can be shown, and some more. */
static void subject_of(char subject[WEIR__GIT_ABOUT_SUBJECT], const char *bytes,
                       const struct weir__git_range *message, bool is_latin)
{
    char joined[2 * WEIR__GIT_ABOUT_SUBJECT];
    size_t at = message->offset, until = at + message->length, used = 0, next;
    while (at < until && line_end(bytes, at, until, &next) == at)
        at = next; /* empty lines before it */
    while (at < until && used < sizeof(joined)) {
        size_t end = line_end(bytes, at, until, &next);
        if (end == at)
            break;
        if (used > 0)
            joined[used++] = ' ';
        size_t length = end - at < sizeof(joined) - used ? end - at : sizeof(joined) - used;
        memcpy(joined + used, bytes + at, length);
        used += length;
        at = next;
    }
    weir__git_about_text(subject, WEIR__GIT_ABOUT_SUBJECT, joined,
                         &(struct weir__git_range){0, used}, is_latin);
}

static bool is_latin(const char *bytes, const struct weir__git_range *encoding)
{
    static const char *const names[] = {"ISO-8859-1", "ISO8859-1", "LATIN1", "LATIN-1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (encoding->length == strlen(names[i]) &&
            strncasecmp(bytes + encoding->offset, names[i], encoding->length) == 0)
            return true;
    return false;
}

static void people(struct weir__git_about *about, const char *bytes,
                   const struct weir__git_person *author, const struct weir__git_person *committer,
                   bool has_latin)
{
    weir__git_about_text(about->author, sizeof(about->author), bytes, &author->name, has_latin);
    weir__git_about_text(about->mail, sizeof(about->mail), bytes, &author->mail, has_latin);
    weir__git_person_date(author, about->date);
    weir__git_person_date(committer, about->committed);
    about->time = author->time;
    about->committed_time = committer->time;
}

int weir__git_about_commit(struct weir__git_about *ret_about, const char *bytes, size_t length,
                           size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_commit commit;
    int error = weir__git_commit_parse(&commit, bytes, length, id_size, why);
    if (error)
        return error;
    bool has_latin = is_latin(bytes, &commit.encoding);
    people(ret_about, bytes, &commit.author, &commit.committer, has_latin);
    subject_of(ret_about->subject, bytes, &commit.message, has_latin);
    return 0;
}

int weir__git_about_tag(struct weir__git_about *ret_about, const char *bytes, size_t length,
                        size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_tag tag;
    int error = weir__git_tag_parse(&tag, bytes, length, id_size, why);
    if (error)
        return error;
    people(ret_about, bytes, &tag.tagger, &tag.tagger, false);
    subject_of(ret_about->subject, bytes, &tag.message, false);
    return 0;
}
