import { type ScoringSubject, parsePrompt } from '../../scorers';
import { PromptError } from '../judge-backend';
import { DATA_BLOCK_BYTES } from './data-block';
import { CUT_MARK_BYTES, cutMiddle, fairShare } from './middle-cut';
import { expandPrompt, type PromptPiece } from './prompt-expansion';

/** Assumed UTF-8 bytes per token. Most texts have more, so prompts fit. */
export const BYTES_PER_TOKEN = 3;

/** Smallest size to which data is cut, in bytes. A prompt that leaves fewer bytes is too long. */
const DATA_MIN = 2 * CUT_MARK_BYTES;

/**
 * Expands the prompt of a definition with a subject to at most `maxBytes` of UTF-8. Keeps the text of the template, and cuts
 * the longest data in the middle.
 *
 * @throws PromptError if the prompt leaves too few bytes for the data, or the template is invalid (older releases accepted some)
 */
export function judgePrompt(template: string, subject: ScoringSubject, maxBytes: number): PromptPiece[] {
  const pieces = expandPrompt(parse(template), subject, Math.max(0, maxBytes));
  const sizeOf = memoize((text) => Buffer.byteLength(text));
  const sizes = pieces.flatMap((piece) => ('data' in piece ? sizeOf(piece.data) : []));
  const templateBytes = pieces.reduce(
    (sum, piece) => sum + ('text' in piece ? Buffer.byteLength(piece.text) : 0),
    0,
  );
  const share = fairShare(sizes, maxBytes - templateBytes - sizes.length * DATA_BLOCK_BYTES);
  if (templateBytes > maxBytes || share < DATA_MIN) {
    throw new PromptError('The prompt is too long: it leaves no tokens for the data.');
  }
  const cut = memoize((text) => cutMiddle(text, share));
  return pieces.map((piece) => ('data' in piece ? { data: cut(piece.data) } : piece));
}

/** Caches the result of `work` per text, because a prompt may contain the same long text a thousand times. */
function memoize<Result>(work: (text: string) => Result): (text: string) => Result {
  const cache = new Map<string, Result>();
  return (text) => {
    if (!cache.has(text)) cache.set(text, work(text));
    return cache.get(text)!;
  };
}

function parse(template: string): ReturnType<typeof parsePrompt> {
  try {
    return parsePrompt(template);
  } catch (error) {
    throw new PromptError(`The prompt ${(error as Error).message}.`);
  }
}
