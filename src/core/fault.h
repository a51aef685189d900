/* fault.h - core's way to the fault points; the rooms above use the same ones.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CORE_FAULT_H
#define WEIR_CORE_FAULT_H

#include <weir/fault.h>

#endif
