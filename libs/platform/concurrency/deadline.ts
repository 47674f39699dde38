/**
 * Waits for `work` for at most `ms` milliseconds. The work itself goes on, and a later failure of it is ignored.
 *
 * @throws Error with this message when the time is over; else what the work throws
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  ms: number,
  message: string,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
