/** Retries in a row that are not worth a notice: about a second. */
const SILENT_RETRIES = 3;
const INTERVAL_MS = 10_000;

/** Returns a function for `onRetry` that says what is being retried, at most every 10 s. */
export function retryNotices(say: (notice: string) => void): (error: unknown, retries: number) => void {
  let saidAt = 0;
  return (error, retries) => {
    if (retries < SILENT_RETRIES || Date.now() - saidAt < INTERVAL_MS) return;
    saidAt = Date.now();
    say(`${(error as Error).message.replace(/\.?$/, '.')} Retrying.`);
  };
}
