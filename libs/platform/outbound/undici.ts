import type * as Undici from 'undici';

/** Loads undici when it is first used, because it takes 6 MiB that a process without outbound calls does not need. */
// eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it with this module
export const undici = (): typeof Undici => require('undici') as typeof Undici;
