/** Why a target cannot be judged at all; its text is for the scorer's author, and becomes the item's `error`. */
export class CannotJudge extends Error {}

/** Why a judge that was asked gave no answer that counts; its text becomes the item's `error`. */
export class JudgeFailure extends Error {
  /** @param costUsd what asking cost all the same, in US dollars, as far as it is known. */
  constructor(
    message: string,
    readonly costUsd?: number,
  ) {
    super(message);
  }
}
