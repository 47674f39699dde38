import type * as Undici from 'undici';

/** Loads undici when it is first used, because it takes 6 MiB that a process without outbound calls does not need. */
export const undici = (): typeof Undici => require('undici') as typeof Undici;
