/**
 * The API in a process of its own, which says how much memory it takes. Its configuration is the environment's. It tells
 * its port as soon as it listens, and then, to any message, what it took since the last one.
 */
import type { AddressInfo } from 'node:net';
import { readEnvironment } from '#platform/config';
import { setLogLevel } from '#platform/logging';
import { createApi } from '../../../src/create-api';

const SAMPLE_MS = 5;
/** Growth above which garbage is collected before a maximum counts, so that the time of a collection does not matter. */
const GARBAGE_BYTES = Number(process.env.GARBAGE_BYTES ?? Infinity);

/** In bytes. */
export interface MemoryUse {
  /** At the beginning, and at the most. */
  resident: [number, number];
  /** Of JavaScript's heap and of buffers, likewise. */
  held: [number, number];
}

async function main(): Promise<void> {
  const environment = readEnvironment(process.env);
  setLogLevel(environment.LOG_LEVEL);
  const app = await createApi(environment);
  await app.listen(0, '127.0.0.1');
  let use = begun();
  setInterval(() => (use = more(use)), SAMPLE_MS);
  process.on('message', () => {
    process.send!(more(use));
    globalThis.gc?.();
    use = begun();
  });
  process.once('disconnect', () => process.exit());
  process.send!((app.getHttpServer().address() as AddressInfo).port);
}

const taken = (): [resident: number, held: number] => {
  const { rss, heapUsed, external } = process.memoryUsage();
  return [rss, heapUsed + external];
};

function begun(): MemoryUse {
  const [resident, held] = taken();
  return { resident: [resident, resident], held: [held, held] };
}

function more({ resident, held }: MemoryUse): MemoryUse {
  let [residentNow, heldNow] = taken();
  if (heldNow > held[1] && heldNow - held[0] > GARBAGE_BYTES) {
    globalThis.gc?.();
    [residentNow, heldNow] = taken();
  }
  return {
    resident: [resident[0], Math.max(resident[1], residentNow)],
    held: [held[0], Math.max(held[1], heldNow)],
  };
}

void main();
