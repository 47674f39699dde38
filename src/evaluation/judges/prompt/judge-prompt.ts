import { type ScoringSubject, parsePrompt } from '../../scorers';
import { CannotJudge } from '../judge-backend';
import { DATA_BLOCK_BYTES } from './data-block';
import { CUT_MARK_BYTES, cutMiddle, fairShare } from './middle-cut';
import { expandPrompt, type PromptPiece } from './prompt.expansion';

/** Assumed bytes of UTF-8 per token: fewer than most texts have, so that prompts fit. */
export const BYTES_PER_TOKEN = 3;

/** Bytes that are kept of data that is cut. A prompt that leaves less room is too long. */
const DATA_MIN = 2 * CUT_MARK_BYTES;

/**
 * Expands the prompt of a definition with a subject, to at most `room` bytes of UTF-8. Keeps all of the scorer's own text
 * and cuts data that is too long in the middle, the longest first.
 *
 * @throws CannotJudge when there is no room, or the template is invalid (an older release accepted it)
 */
export function judgePrompt(template: string, subject: ScoringSubject, room: number): PromptPiece[] {
  const pieces = expandPrompt(parsed(template), subject, Math.max(0, room));
  const sizeOf = once((text) => Buffer.byteLength(text));
  const sizes = pieces.flatMap((piece) => ('data' in piece ? sizeOf(piece.data) : []));
  const own = pieces.reduce((sum, piece) => sum + ('own' in piece ? Buffer.byteLength(piece.own) : 0), 0);
  const share = fairShare(sizes, room - own - sizes.length * DATA_BLOCK_BYTES);
  if (own > room || share < DATA_MIN) {
    throw new CannotJudge('The prompt is too long: it leaves no tokens for the data.');
  }
  const cut = once((text) => cutMiddle(text, share));
  return pieces.map((piece) => ('data' in piece ? { data: cut(piece.data) } : piece));
}

/** Runs `work` once per text, because a prompt may contain the same long text a thousand times. */
function once<Result>(work: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>();
  return (text) => {
    if (!known.has(text)) known.set(text, work(text));
    return known.get(text)!;
  };
}

function parsed(template: string): ReturnType<typeof parsePrompt> {
  try {
    return parsePrompt(template);
  } catch (error) {
    throw new CannotJudge(`The prompt ${(error as Error).message}.`);
  }
}
