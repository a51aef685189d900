/* resources.h - what the machine and its administrator allow the program to use.
 *
 * Ownership: nothing here owns anything; the limit of descriptors is that of the whole process.
 */
#ifndef WEIR_BASE_RESOURCES_H
#define WEIR_BASE_RESOURCES_H

#include <stdint.h>

/* Why a thread cannot be had, for people: the system does not say which of them it was. */
#define WEIR__RESOURCES_NO_THREAD                                                                  \
    "there are too many threads (ulimit -u, or pids.max of the cgroup), or there is too little "   \
    "memory (ulimit -v)"
/* Where memory may have an end before the machine has. */
#define WEIR__RESOURCES_NO_MEMORY "raise the limit (ulimit -v, or memory.max of the cgroup)"

/* More is not asked for: the kernel's tables grow with the highest descriptor. */
#define WEIR__RESOURCES_DESCRIPTORS_MAX 65536u

/* Raises the limit of open descriptors as far as the process may, and not beyond
 * WEIR__RESOURCES_DESCRIPTORS_MAX; one that is higher stays. Returns the limit that holds then. */
uint64_t weir__resources_descriptors(void);

/* Processors that the process may run on (taskset, a container's set); at least one. */
unsigned weir__resources_cores(void);

/* The calling thread lets others go first when there are too few processors (nice 10). */
void weir__resources_give_way(void);

#endif
