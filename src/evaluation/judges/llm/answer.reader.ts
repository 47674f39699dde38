import { isJsonObject } from '#platform/json';
import { Problem } from '#platform/problem';
import { type Answer, type Output, scoreOfAnswer } from '../../scorers/definitions/output.answer';
import { cutText, MAX_ERROR_LENGTH } from '../../scorers/engine/limits';
import { memberOf } from './answer.schema';

/** What a judge's text says. */
export interface ReadAnswer extends Answer {
  score: number;
  reasoning?: string;
}

/** Why a text is no answer, in at most 2,000 characters; worded so that the judge, too, can do better next time. */
export class UnreadableAnswer extends Error {}

/**
 * Reads what a model answered: one JSON object, perhaps within a Markdown fence, or behind what it thought. Nothing is
 * guessed: an answer of another form, out of bounds, or that is none of the choices, is none.
 *
 * @throws UnreadableAnswer
 */
export function readAnswerText(output: Output, text: string): ReadAnswer {
  const value = parsed(bare(text));
  if (!isJsonObject(value)) throw new UnreadableAnswer('it is not a JSON object');
  const member = memberOf(output);
  try {
    const { answer, score } = scoreOfAnswer(output, { [member]: value[member] });
    const { reasoning } = value;
    return { ...answer, score, ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning }) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const faults = error.errors?.map((fault) => `${'pointer' in fault ? fault.pointer : ''} ${fault.detail}`);
    throw new UnreadableAnswer(cutText(faults?.join('; ') ?? error.detail, MAX_ERROR_LENGTH));
  }
}

/** A text without what reasoning models put before it, and without a Markdown fence around it. */
export function bare(text: string): string {
  const said = withoutThoughts(text.trim());
  return /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i.exec(said)?.[1]?.trim() ?? said;
}

/** Some servers leave out how the thoughts begin. An answer that begins at once has none, whatever it quotes. */
function withoutThoughts(text: string): string {
  if (/^[{`]/.test(text)) return text;
  const end = text.indexOf('</think>');
  return end < 0 ? text : text.slice(end + '</think>'.length).trim();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
