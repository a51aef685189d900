/* rate.c - how often a literal is met in source text.
 *
 * What is met often is of no use to find rules by: each time an expression must be run. The
 * estimate takes letters for independent of each other, with a factor for that they are not, and
 * knows the words that programs are full of. It need not be good: between what is rare and what is
 * everywhere there are four orders of magnitude.
 */
#include <string.h>

#include "expression.h"

#include "banned.h"

#define BYTES      1e6    /* that the rate is for */
#define DEPENDENCE 8.0    /* of letters on each other: words are made of them */
#define UPPER      0.12   /* of a letter's occurrences are upper case */
#define SHORT_RATE 2000.0 /* of two bytes, whatever they are: some text is full of them */
#define WORD_MIN   3u     /* letters of the words below */
#define WORD_MAX   11u

/* In a thousand bytes of source, of either case. */
static const double letters[26] = {
    60, 13, 35, 35,  90, 22, 15, 18, 55, 2, 7, 40, 22, /* a to m */
    55, 50, 25, 1.5, 55, 55, 65, 25, 8,  9, 8, 12, 2,  /* n to z */
};

static double rate_of_byte(char byte, bool is_cased)
{
    char lower = weir__lower(byte);
    if (lower >= 'a' && lower <= 'z')
        return letters[lower - 'a'] / 1000 * (is_cased && byte != lower ? UPPER : 1);
    if (byte >= '0' && byte <= '9')
        return byte < '2' ? 0.015 : 0.006;
    switch (byte) {
    case ' ':
        return 0.15;
    case '\n':
        return 0.03;
    case '_':
        return 0.02;
    case '"':
    case '(':
    case ')':
    case ',':
    case '-':
    case '.':
    case '/':
    case '\t':
    case '*':
        return 0.011;
    case '\'':
    case ':':
    case ';':
    case '<':
    case '=':
    case '>':
        return 0.007;
    default:
        return 0.002;
    }
}

/* Words that are met more often than their letters say, by how often in a megabyte: of the words in
 * secrets' contexts, those that C, Python, JavaScript and documentation are full of. */
static const struct {
    double rate;
    const char *words;
} classes[] = {
    {2000, " and bio class com commit const def define for function github https int node open"
           " self ssl str test the this type"
           " "},
    {800, " add all are arg cert char check cmp code ctx data der element end error ess ext file"
          " get href info key length name none not one out png port pre ptr set string use val"
          " value var vki with"
          " "},
    {300, " abc addr any api args ast base bit but cache call can cli conf config context cur"
          " date days default dir document event export false files fix flag flags form format"
          " from gnu has header html idx import index init input instance its let license line"
          " list local long mac main match method min module months new null number object off"
          " option options ord org other param parse pin pkcs point policy pub push raises read"
          " reg rel req request right row run select sha split src stack start store sub sym"
          " text that time tls token true undefined url used version write"
          " "},
    /* Programs that deal with secrets are full of these. */
    {100,
     " password passwd secret apikey api_key credential credentials bearer username login email "},
    {120,
     " acc action address ago alg alloc allow amp arc arn asia auth auto bar been ben block"
     " body bot build bus bytes certs change cipher client close command common conn"
     " connect content core count create crypto css current dev direct disable docs domain"
     " dsa each entry env europe events example extra factor fetch ffi field first float"
     " foo fpc functions generic global gpl group hash have headers here hook hooks hour"
     " how identifier insert internal item join json keys last ldap link linux literal load"
     " locale log lookup machine make mark matrix may message mock model more msg mul names need"
     " net next nie now npm oct offsets old only optional origin over own package parameter"
     " part pass pem pop prefix priv private proc process program property public raw"
     " reference regex replace response results rod root rsa safe sam same second see"
     " server session sets short should sid socket some sort source state static status"
     " stream sum system tag task tests then title tool tools tree trust txt under update"
     " uri user values variable verify was web weir when which will without word work xml"
     " zone"
     " "},
    {50, " abcd about abstract access active ada agent algorithm alpha also always apache apr"
         " archive ascii atom attributes bases basic before begin boolean box branch bridge"
         " bundle button cannot catch ced chain changes clone cmd collect collection column"
         " commands comment compare connection console constant control corp coverage crm curve"
         " dee deep digest directory disabled dummy dump echo edt eet empty enable enabled"
         " encrypt ends enter environ errors evp extensions face factory feb flat flow"
         " following force frame fut given grant graph groups guest hdr help hint host hours"
         " initial install interface into invalid iso issue iterable java just keyword kind"
         " known label language launch less level like lines location mail maj manager"
         " manual member metadata must named native nav nid note objects older once operator"
         " otherwise owner packages page pair parameters params paths platform polygon post"
         " prod profile project prompt properties props proxy random record register registry"
         " render reply required resource rest rights runtime sample sat scope score search"
         " security send setting setup share show signal signature simple site socks spaces"
         " stable step strings strong styles subject such systems tags take than them there"
         " they thing ticket times tokens total trigger unique unknown until usa variables vars"
         " vector view virtual walk ways websocket what where windows worker workspace written"
         " www xfc your zip"
         " "},
    {20, " actions allowed analysis apis bash browser buckets calls cases center channel"
         " characters circle cluster come commits compliance container controller cookie"
         " created cred curl definition detect developer device distutils driver examples"
         " feature fill forms gmail good gost heading hidden hide home identity inside"
         " integrity issues linear links live locks made manifest media members messages"
         " minipass missing modal napi needed nonce notes nothing ones parts privatekey"
         " processes product provider pubkey publish readme reads receive removed repeat"
         " repository reset role rules runner running runs salt save seen segment service"
         " settings shared sources square standard starts storage suite their todo toggle track"
         " trusted upgrade users validation very within words workspaces yaml zones zoom"
         " "},
};

/* Expressions are also studied while something is scanned: what is no such word is not looked for.
 */
static double rate_of_word(const char *text, size_t length)
{
    char word[WORD_MAX + 3] = " ";
    if (length < WORD_MIN || length > WORD_MAX)
        return 0;
    for (size_t i = 0; i < length; i++) {
        word[i + 1] = weir__lower(text[i]);
        if ((word[i + 1] < 'a' || word[i + 1] > 'z') && word[i + 1] != '_')
            return 0;
    }
    word[length + 1] = ' ';
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (memmem(classes[i].words, strlen(classes[i].words), word, length + 2))
            return classes[i].rate;
    return 0;
}

static double rate_of(const char *text, size_t length, bool is_cased)
{
    double rate = BYTES * (length > 1 ? DEPENDENCE : 1);
    for (size_t i = 0; i < length; i++)
        rate *= rate_of_byte(text[i], is_cased);
    bool has_upper = false;
    for (size_t i = 0; i < length && is_cased; i++)
        has_upper |= text[i] != weir__lower(text[i]);
    double least = rate_of_word(text, length) * (has_upper ? UPPER : 1);
    if (length < 3)
        least = SHORT_RATE;
    return least > rate ? least : rate;
}

size_t weir__literals_shortest(const struct weir__literals *literals)
{
    size_t least = 0;
    for (unsigned i = 0; i < literals->count; i++)
        if (i == 0 || literals->length[i] < least)
            least = literals->length[i];
    return least;
}

double weir__literals_rate(const struct weir__literals *literals)
{
    double rate = 0;
    if (weir__literals_shortest(literals) == 0)
        return WEIR__RATE_ANY;
    for (unsigned i = 0; i < literals->count; i++)
        rate += rate_of(literals->text[i], literals->length[i], literals->is_cased[i]);
    return rate < WEIR__RATE_ANY ? rate : WEIR__RATE_ANY;
}
