/**
 * Waits for `work` for at most `ms` milliseconds. After that the work continues, and its errors are ignored.
 *
 * @throws Error with this message and the code `ETIMEDOUT` when the time is up; else the error of the work
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  ms: number,
  message: string,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(message), { code: 'ETIMEDOUT' })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
