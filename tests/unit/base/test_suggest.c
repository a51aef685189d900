/* test_suggest.c - distances, the cutoff and who wins. */
#include "suggest.h"

#include <limits.h>
#include <stdio.h>

#include "tap.h"

static const char *nearest(const char *word, const char *const *candidates)
{
    static struct weir__suggestion suggestion;
    suggestion = (struct weir__suggestion){.word = ""};
    for (size_t i = 0; candidates[i]; i++)
        weir__suggest_offer(&suggestion, word, candidates[i]);
    return suggestion.word;
}

TEST(distance_counts_each_kind_of_step_once)
{
    CHECK_EQ(weir__suggest_distance("", ""), 0);
    CHECK_EQ(weir__suggest_distance("copy", "copy"), 0);
    CHECK_EQ(weir__suggest_distance("cpy", "copy"), 1);
    CHECK_EQ(weir__suggest_distance("coopy", "copy"), 1);
    CHECK_EQ(weir__suggest_distance("cody", "copy"), 1);
    CHECK_EQ(weir__suggest_distance("cpoy", "copy"), 1);
    CHECK_EQ(weir__suggest_distance("", "copy"), 4);
    CHECK_EQ(weir__suggest_distance("kitten", "sitting"), 3);
    CHECK_EQ(weir__suggest_distance("abcdef", "badcfe"), 3);
    CHECK_EQ(weir__suggest_distance("HELP", "help"), 0);
}

TEST(distance_is_symmetric)
{
    CHECK_EQ(weir__suggest_distance("errors", "mirror"),
             weir__suggest_distance("mirror", "errors"));
    CHECK_EQ(weir__suggest_distance("ab", "xxxab"), weir__suggest_distance("xxxab", "ab"));
}

TEST(too_long_words_have_no_distance)
{
    char longest[WEIR__SUGGEST_MAX + 1], longer[WEIR__SUGGEST_MAX + 2];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CHECK_EQ(weir__suggest_distance(longest, longest), 0);
    CHECK_EQ(weir__suggest_distance(longer, longest), UINT_MAX);
    CHECK_STR(nearest(longest, (const char *[]){longest, NULL}), longest);
    CHECK_STR(nearest(longer, (const char *[]){longer, NULL}), "");
}

TEST(the_nearest_wins_and_the_far_are_not_offered)
{
    const char *const words[] = {"copy", "completion", "errors", "help", "man", NULL};
    CHECK_STR(nearest("cop", words), "copy");
    CHECK_STR(nearest("erors", words), "errors");
    CHECK_STR(nearest("ERRORS", words), "errors");
    CHECK_STR(nearest("hepl", words), "help");
    CHECK_STR(nearest("mna", words), "man");
    CHECK_STR(nearest("x", words), "");
    CHECK_STR(nearest("", words), "");
    CHECK_STR(nearest("banana", words), "");
    CHECK_STR(nearest("tcsh", (const char *[]){"bash", "zsh", "fish", NULL}), "");
}

TEST(a_beginning_finds_its_word)
{
    const char *const words[] = {"max-files-in-flight", "max-bytes", "quiet", NULL};
    CHECK_STR(nearest("max-file", words), "max-files-in-flight");
    CHECK_STR(nearest("max", words), "max-bytes");
    CHECK_STR(nearest("q", words), "");
    CHECK_STR(nearest("qu", words), "quiet");
}

TEST(of_equals_the_first_stays)
{
    CHECK_STR(nearest("cat", (const char *[]){"car", "cap", NULL}), "car");
}

TAP_MAIN()
