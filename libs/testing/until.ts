import { setTimeout as delay } from 'node:timers/promises';

/** Time after which `until` gives up, in milliseconds. Much longer than a slow machine needs. */
const GIVE_UP_MS = 50_000;

/** Waits until a condition holds. Checks it every few milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + GIVE_UP_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`The condition did not become true: ${String(holds)}`);
    await delay(5);
  }
}
