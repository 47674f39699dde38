import type * as Undici from 'undici';

/** Loads undici with the first call, because it takes 20 MiB, which most processes need for nothing else. */
// eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it with this module
export const undici = (): typeof Undici => require('undici') as typeof Undici;
