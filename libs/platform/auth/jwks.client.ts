import type { KeySource } from './key-set';

const DEADLINE_MS = 5_000;
const MAX_BYTES = 256 * 1024;

/**
 * Reads a JWK set over HTTP, under one deadline and a size cap. Redirects are not followed: the address is the one
 * the operator configured.
 */
export function jwksAt(address: string, deadlineMs = DEADLINE_MS): KeySource {
  return async () => {
    const answer = await fetch(address, {
      headers: { accept: 'application/jwk-set+json, application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(deadlineMs),
    });
    if (!answer.ok || !answer.body) {
      await answer.body?.cancel();
      throw new Error(`the key set was answered with status ${answer.status}`);
    }
    return JSON.parse(await readCapped(answer.body)) as unknown;
  };
}

async function readCapped(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // leaving the loop cancels the stream
    if (size > MAX_BYTES) throw new Error(`the key set is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
