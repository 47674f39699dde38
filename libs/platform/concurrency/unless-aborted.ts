/**
 * Waits for work, for a caller who leaves when the signal is aborted. The work itself continues, and its result is ignored.
 *
 * @throws the signal's reason, at once, when it is aborted; else the error of `work`
 */
export function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
