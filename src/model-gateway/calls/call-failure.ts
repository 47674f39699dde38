import type { Problem } from '#platform/problem';

/** A provider did not answer a call. */
export class CallFailure extends Error {
  /**
   * @param problem what the client gets if nobody else answers
   * @param isRetryable the same target may answer later
   * @param isOfTarget another target may answer. False if the request is at fault.
   * @param retryAfterMs how long the provider asked to wait
   */
  constructor(
    readonly problem: Problem,
    readonly isRetryable: boolean,
    readonly isOfTarget: boolean,
    readonly retryAfterMs?: number,
  ) {
    super(problem.detail, { cause: problem });
    this.name = 'CallFailure';
  }
}
