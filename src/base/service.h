/* service.h - what a program that runs until it is told to stop has to do with its system: signals,
 * and the manager that started it.
 *
 * Signals are not handled but waited for, by one thread, so that nothing runs in the middle of
 * something else. The manager is any that speaks as systemd does: sockets that are handed over
 * (LISTEN_FDS), a datagram when the service is ready, stops or reloads (NOTIFY_SOCKET), and one now
 * and then while it lives (WATCHDOG_USEC). Where there is none of that, nothing happens.
 *
 * Ownership: sockets belong to the caller.
 */
#ifndef WEIR_BASE_SERVICE_H
#define WEIR_BASE_SERVICE_H

#include <weir/defs.h>

#define WEIR__SERVICE_SOCKETS_MAX 16u

/* SIGINT, SIGTERM and SIGHUP are kept for weir__service_signal(), in all threads that start from
 * here on. */
void weir__service_keep_signals(void);
/* The next of them, or 0 when none came in that time. Waits. */
int weir__service_signal(uint64_t ns);

/* The sockets that were handed over, how many. Their descriptors are not inherited further. */
size_t weir__service_sockets(int sockets[WEIR__SERVICE_SOCKETS_MAX]);
/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=..."; lines. What cannot be told is lost. */
void weir__service_notify(const char *text);
/* How often the manager wants to hear from us; 0: never. */
uint64_t weir__service_watchdog_ns(void);

#endif
