/**
 * Waits for `work` for at most `ms` milliseconds. After that the work continues, and its errors are ignored.
 *
 * @param late the error when the time is up, or its message
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  ms: number,
  late: string | (() => Error),
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(typeof late === 'string' ? new Error(late) : late()), ms);
  });
  try {
    return await Promise.race([work, expiry]);
  } finally {
    clearTimeout(timer);
  }
}
