/* address_text.h - are addresses, networks, hosts and origins written as they should be?
 *
 * Promises: nothing is looked up, so names of hosts are no addresses. Each returns NULL for a good
 * text, else what is expected instead, for a message.
 *
 * Ownership: what is returned is static.
 */
#ifndef WEIR_HTTP_ADDRESS_TEXT_H
#define WEIR_HTTP_ADDRESS_TEXT_H

/* To listen on: 127.0.0.1:80, [::1]:80, unix:PATH. */
const char *weir__address_check(const char *text);
/* An address, or a network: 10.0.0.0/8, ::1. Bits behind the prefix must be 0. */
const char *weir__network_check(const char *text);
/* The name of a host, or its address, without a port. */
const char *weir__host_check(const char *text);
/* http://HOST, https://HOST:PORT; nothing behind it. */
const char *weir__origin_check(const char *text);

#endif
