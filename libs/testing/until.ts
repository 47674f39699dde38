import { setTimeout as delay } from 'node:timers/promises';

/** Time after which `until` gives up, in milliseconds. Much longer than a slow machine needs. */
const GIVE_UP_MS = 50_000;

/** The first and the longest pause between two checks, in milliseconds, and the growth of the pauses. */
const PAUSE_MS = 5;
const PAUSE_MAX_MS = 40;
const GROWTH = 1.2;

/** Waits until a condition holds. Checks it every few milliseconds, and less often when it takes longer. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + GIVE_UP_MS;
  for (let pause = PAUSE_MS; !(await holds()); pause = Math.min(pause * GROWTH, PAUSE_MAX_MS)) {
    if (Date.now() > end) throw new Error(`The condition did not become true: ${String(holds)}`);
    await delay(pause);
  }
}
