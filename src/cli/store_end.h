/* store_end.h - what is told of a store that could not be closed as it should be.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CLI_STORE_END_H
#define WEIR_CLI_STORE_END_H

/* Of what weir__store_close() returned; 0 is not told. */
void weir__store_end_tell(int closed);

#endif
