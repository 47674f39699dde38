import type { Problem } from '#platform/problem';

/** A failed request to a provider. */
export class CallFailure extends Error {
  /**
   * @param problem the problem for the client if no other target answers
   * @param isRetryable whether the same target may answer later
   * @param allowsFallback whether another target may answer. False if the request is at fault
   * @param retryAfterMs `Retry-After` of the provider, in milliseconds
   */
  constructor(
    readonly problem: Problem,
    readonly isRetryable: boolean,
    readonly allowsFallback: boolean,
    readonly retryAfterMs?: number,
  ) {
    super(problem.detail, { cause: problem });
    this.name = 'CallFailure';
  }
}
