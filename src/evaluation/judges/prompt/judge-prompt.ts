import type { ScoringSubject } from '../../scorers/engine/score-outcome';
import { CannotJudge } from '../judge-failure';
import { DATA_BLOCK_BYTES } from './data-block';
import { CUT_MARK_BYTES, cutMiddle, fairShare } from './middle-cut';
import { expandPrompt, type PromptPiece } from './prompt.expansion';
import { parsePrompt } from './prompt.template';

/** Bytes of UTF-8 for each token that a text is taken to have: fewer than most texts have, so that what fits does. */
export const BYTES_PER_TOKEN = 3;

/** Of data that is cut, at least so many bytes are kept; a prompt that leaves less room is too long. */
const DATA_MIN = 2 * CUT_MARK_BYTES;

/**
 * The prompt of a definition with a subject put into it, in at most `room` bytes of UTF-8. The scorer's own words are
 * all there; data that is too long for the rest is cut in its middle, the longest first.
 *
 * @throws CannotJudge where there is no room for it, or the template is none (an older service took it).
 */
export function judgePrompt(template: string, subject: ScoringSubject, room: number): PromptPiece[] {
  const pieces = expandPrompt(parsed(template), subject, Math.max(0, room));
  const sizeOf = once((text) => Buffer.byteLength(text));
  const sizes = pieces.flatMap((piece) => ('data' in piece ? sizeOf(piece.data) : []));
  const own = pieces.reduce((sum, piece) => sum + ('own' in piece ? Buffer.byteLength(piece.own) : 0), 0);
  const share = fairShare(sizes, room - own - sizes.length * DATA_BLOCK_BYTES);
  if (own > room || share < DATA_MIN) {
    throw new CannotJudge('The prompt leaves no room in what the judge can read for what is to be judged.');
  }
  const cut = once((text) => cutMiddle(text, share));
  return pieces.map((piece) => ('data' in piece ? { data: cut(piece.data) } : piece));
}

/** Does something with each text once: the same long one may stand in a prompt a thousand times. */
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
