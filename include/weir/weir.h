/* weir.h - all of libweir.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/adapt.h>
#include <weir/admit.h>
#include <weir/backoff.h>
#include <weir/breaker.h>
#include <weir/budget.h>
#include <weir/bus.h>
#include <weir/cancel.h>
#include <weir/clock.h>
#include <weir/crew.h>
#include <weir/deadline.h>
#include <weir/defs.h>
#include <weir/error.h>
#include <weir/frontier.h>
#include <weir/hedge.h>
#include <weir/histogram.h>
#include <weir/lock.h>
#include <weir/metrics.h>
#include <weir/pool.h>
#include <weir/queue.h>
#include <weir/rate.h>
#include <weir/sched.h>
#include <weir/slots.h>
#include <weir/watch.h>

#endif
