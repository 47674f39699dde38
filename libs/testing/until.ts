import { setTimeout as delay } from 'node:timers/promises';

/** Time after which something that a test waits for counts as missing. Much longer than a slow machine takes. */
const GIVE_UP_MS = 50_000;

/** Waits until a condition holds, which is checked every few milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + GIVE_UP_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`It did not become true: ${String(holds)}`);
    await delay(5);
  }
}
