import { Problem, problemOfDatabaseError } from '#platform/problem';
import { pause } from '../shared/pause';

const AGAIN_MS = 500;

/** Does something with the database, perhaps more than once. */
export type Patience = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Once: who waits for an answer is told at once that the database is away. */
export const impatient: Patience = (work) => work();

/**
 * Does it again for as long as the database is away, so that a score that was paid for is not lost with the minute in
 * which it could not be kept. What is done so is to be right if it is done twice. Throws the signal's reason when it is
 * aborted.
 */
export const patientUntil =
  (signal: AbortSignal): Patience =>
  async (work) => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        await pause(AGAIN_MS * (0.5 + Math.random()), signal);
      }
    }
  };

/** Whether an error says that the database cannot be reached, or has no room, at the moment. */
export function isDatabaseAway(error: unknown): boolean {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  return found?.code === 'service_unavailable';
}
