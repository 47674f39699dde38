/** Why a target cannot be judged at all; its text is for the scorer's author, and becomes the item's `error`. */
export class CannotJudge extends Error {}

/** Why a judge that was asked gave no answer that counts; its text becomes the item's `error`. */
export class JudgeFailure extends Error {
  /** @param requestSha256 of the request that was answered all the same, where one was. */
  constructor(
    message: string,
    readonly requestSha256?: string,
  ) {
    super(message);
  }
}
