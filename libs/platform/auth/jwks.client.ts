import { readCapped } from '#platform/outbound';
import type { KeySource } from './key-set';

const DEADLINE_MS = 5_000;
/** Another service like this one also publishes the keys of its organizations, up to 1 MiB. */
const MAX_BYTES = 2 * 1024 * 1024;

/**
 * Returns a source that reads a JWK set over HTTP, within one deadline and up to 2 MiB. It does not follow redirects,
 * because the operator configured exactly this URL.
 */
export function jwksAt(url: string, deadlineMs = DEADLINE_MS): KeySource {
  return async () => {
    const response = await fetch(url, {
      headers: { accept: 'application/jwk-set+json, application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(deadlineMs),
    });
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new Error(`the key set URL returned status ${response.status}`);
    }
    const text = await readCapped(response.body, MAX_BYTES);
    if (text === undefined) throw new Error(`the key set is larger than ${MAX_BYTES} bytes`);
    return JSON.parse(text) as unknown;
  };
}
