import { rootLogger } from '#platform/logging';
import { tracing } from '#platform/tracing';

/** Exit codes by which a shell knows that a signal ended a process: 128 and the signal's number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof SIGNALS;

const endAtOnce = (signal: NodeJS.Signals): never => process.exit(SIGNALS[signal as Signal]);

/**
 * Ends the process at once on SIGTERM and Ctrl-C (143 or 130), until {@link stopOnSignal} takes over: nothing has been
 * accepted yet, and what was not committed did not happen. That is what happens by default, but not to the first
 * process of a container, which gets no signal that it does not ask for.
 */
export function endOnSignal(): void {
  for (const signal of Object.keys(SIGNALS)) process.on(signal, endAtOnce);
}

/** How long a process that has finished may still send its traces, in ms: within the time for its last steps. */
const TRACES_MS = 2_000;

/**
 * Stops the process cleanly on SIGTERM and Ctrl-C: `stop` finishes what is under way, then the process sends the last
 * of its traces and ends with code 0. When that takes longer than `seconds`, or a second signal comes, it ends at once.
 */
export function stopOnSignal(stop: () => Promise<void>, seconds: number): void {
  let stopping = false;
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.off(signal, endAtOnce);
    process.on(signal, () => {
      if (stopping) process.exit(code);
      stopping = true;
      const endsAt = performance.now() + seconds * 1000;
      rootLogger.info({ signal }, 'stopping');
      setTimeout(() => {
        rootLogger.error({ seconds }, 'not stopped in time: ending at once');
        process.exit(code);
      }, seconds * 1000).unref();
      stop()
        .then(() => tracing().stop(Math.min(TRACES_MS, (endsAt - performance.now()) / 2)))
        .then(
          () => process.exit(0),
          (error: unknown) => {
            rootLogger.error({ err: error }, 'stopping failed');
            process.exit(1);
          },
        );
    });
  }
}

/** Of the time that a stopping process has, what is kept for its last steps. */
const LAST_STEPS_MS = 3_000;

/** How long what is under way may still take in a process that has `seconds` to stop, in ms. */
export const finishingMs = (seconds: number): number => Math.max(0, seconds * 1000 - LAST_STEPS_MS);

/** Runs a process's start; where it fails, says why in one line and ends with code 1. */
export function start(work: () => Promise<void>): void {
  work().catch(endWith);
}

/** An error for the operator, whose message says everything: no stack is logged with it. */
export class StartRefusal extends Error {}

/** Ends a process that cannot go on: logs why in one line and exits with code 1. */
export function endWith(error: unknown): never {
  const fields = error instanceof StartRefusal ? {} : { err: error };
  rootLogger.fatal(fields, error instanceof Error ? error.message : 'the start failed');
  process.exit(1);
}
