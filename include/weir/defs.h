/* defs.h - attributes and small constants that every other header uses.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_DEFS_H
#define WEIR_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS   }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

/* What is not marked so stays inside the shared library. */
#define WEIR_API __attribute__((visibility("default")))

/* A result that must not be dropped: it carries a permit, or the reason why there is none. */
#define WEIR_MUST_USE __attribute__((warn_unused_result))

/* Runs fn(&variable) when the variable goes out of scope, on every path. */
#define WEIR_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Names of objects (budgets, queues, ...) are copied and may have this many bytes with the NUL. */
#define WEIR_NAME_MAX 32

/* A point in time that never comes. */
#define WEIR_NEVER     UINT64_MAX

#define WEIR_NS_PER_US UINT64_C(1000)
#define WEIR_NS_PER_MS UINT64_C(1000000)
#define WEIR_NS_PER_S  UINT64_C(1000000000)

#endif
