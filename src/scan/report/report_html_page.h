/* report_html_page.h - the fixed parts of the HTML report.
 *
 * The page allows itself this style and this script, by their hashes, and nothing else: whatever
 * gets into it by a mistake in escaping does not run. test_report.c checks that the hashes fit, and
 * says which they should be.
 *
 * Ownership: constants.
 */
#ifndef WEIR_SCAN_REPORT_REPORT_HTML_PAGE_H
#define WEIR_SCAN_REPORT_REPORT_HTML_PAGE_H

/* clang-format off */
#define WEIR__PAGE_STYLE_HASH  "sha256-4rxTFUQRM7j8vqhG33OWTkFewEnLnikT+kw//d5DtI4="
#define WEIR__PAGE_SCRIPT_HASH "sha256-h3EHxw3NlPPQuVynNBv60yJM44TidFYF9QxAjyTbP9E="
/* clang-format on */

extern const char weir__page_style[];
extern const char weir__page_script[];

#endif
