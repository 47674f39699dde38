import { rootLogger } from '#platform/logging';
import { tracing } from '#platform/tracing';

/** Exit codes of a process that a signal ended: 128 plus the number of the signal. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof SIGNALS;

const endAtOnce = (signal: NodeJS.Signals): never => process.exit(SIGNALS[signal as Signal]);

/**
 * Ends the process at once on SIGTERM and Ctrl-C (143 or 130), until {@link stopOnSignal} takes over. This is safe, because
 * no work has been accepted yet. It is also the default, except for the first process of a container, which receives only
 * the signals that it handles.
 */
export function endOnSignal(): void {
  for (const signal of Object.keys(SIGNALS)) process.on(signal, endAtOnce);
}

/** Time to export the last traces, in ms. It is part of the time for the last steps. */
const TRACES_MS = 2_000;

/**
 * Stops the process cleanly on SIGTERM and Ctrl-C: `stop` finishes running work, then the process exports its last traces
 * and ends with code 0. If that takes longer than `seconds`, or a second signal arrives, it ends at once.
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
        rootLogger.error({ seconds }, 'could not stop in time; exiting now');
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

/** Part of the time of a stopping process that is reserved for its last steps. */
const LAST_STEPS_MS = 3_000;

/** Returns the time that running work has in a process that must stop within `seconds`, in ms. */
export const finishingMs = (seconds: number): number => Math.max(0, seconds * 1000 - LAST_STEPS_MS);

/** Runs the start of a process. If it fails, reports the reason in one line and exits with code 1. */
export function start(work: () => Promise<void>, report: (error: unknown) => void = logEnd): void {
  work().catch((error: unknown) => {
    report(error);
    process.exit(1);
  });
}

/** An error for the operator. Reported without its stack, because the message is sufficient. */
export class StartError extends Error {}

/** Ends a process that cannot continue: logs the reason in one line and exits with code 1. */
export function endWith(error: unknown): never {
  logEnd(error);
  process.exit(1);
}

function logEnd(error: unknown): void {
  const isUsage = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true;
  const fields = error instanceof StartError || isUsage ? {} : { err: error };
  rootLogger.fatal(fields, error instanceof Error ? error.message : 'start failed');
}

/** For a process that a person starts in a terminal: writes the message of a StartError to standard error. Logs others. */
export function printEnd(error: unknown): void {
  if (error instanceof StartError) process.stderr.write(`${error.message}\n`);
  else logEnd(error);
}
