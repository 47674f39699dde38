/**
 * Runs the API in a separate process, which measures its memory. It reads its configuration from the environment. It sends
 * its port once it listens. It replies to each message with the memory that it used since the previous message.
 */
import type { AddressInfo } from 'node:net';
import { readEnvironment } from '#platform/config';
import { setLogLevel } from '#platform/logging';
import { createApi } from '../../../src/create-api';

const SAMPLE_MS = 5;
/** Growth in bytes above which garbage is collected before a maximum counts, so that results do not depend on collections. */
const GARBAGE_BYTES = Number(process.env.GARBAGE_BYTES ?? Infinity);

/** Memory use, in bytes. */
export interface MemoryUse {
  /** The resident memory at the beginning, and its maximum. */
  resident: [number, number];
  /** The same for the JavaScript heap and buffers. */
  held: [number, number];
}

async function main(): Promise<void> {
  const environment = readEnvironment(process.env);
  setLogLevel(environment.LOG_LEVEL);
  const app = await createApi(environment);
  await app.listen(0, '127.0.0.1');
  let use = initialUse();
  setInterval(() => (use = updated(use)), SAMPLE_MS);
  process.on('message', () => {
    process.send!(updated(use));
    globalThis.gc?.();
    use = initialUse();
  });
  process.once('disconnect', () => process.exit());
  process.send!((app.getHttpServer().address() as AddressInfo).port);
}

const currentUse = (): [resident: number, held: number] => {
  const { rss, heapUsed, external } = process.memoryUsage();
  return [rss, heapUsed + external];
};

function initialUse(): MemoryUse {
  const [resident, held] = currentUse();
  return { resident: [resident, resident], held: [held, held] };
}

function updated({ resident, held }: MemoryUse): MemoryUse {
  let [residentNow, heldNow] = currentUse();
  if (heldNow > held[1] && heldNow - held[0] > GARBAGE_BYTES) {
    globalThis.gc?.();
    [residentNow, heldNow] = currentUse();
  }
  return {
    resident: [resident[0], Math.max(resident[1], residentNow)],
    held: [held[0], Math.max(held[1], heldNow)],
  };
}

void main();
