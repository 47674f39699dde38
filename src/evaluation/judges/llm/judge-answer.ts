import { isJsonObject } from '#platform/json';
import { Problem } from '#platform/problem';
import {
  type Answer,
  cutText,
  MAX_ERROR_LENGTH,
  type Output,
  scoreOfAnswer,
  type SingleOutput,
} from '../../scorers';

/** Returns the JSON Schema of a judge's answer. Uses only keywords that all servers with structured output support. */
export function answerSchema(output: Output, withReasoning: boolean): object {
  return objectOf({
    ...(withReasoning && { reasoning: { type: 'string' } }),
    ...(output.type === 'questions'
      ? {
          answers: objectOf(
            Object.fromEntries(output.questions.map((one) => [one.key, valueSchema(one.output)])),
          ),
        }
      : { [memberOf(output)]: valueSchema(output) }),
  });
}

/** Returns the member of a judge's answer that contains the value of an output. */
export const memberOf = (output: Output): 'choice' | 'value' | 'answers' =>
  output.type === 'choice' ? 'choice' : output.type === 'questions' ? 'answers' : 'value';

const objectOf = (properties: object): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

function valueSchema(output: SingleOutput): object {
  if (output.type === 'choice') return { type: 'string', enum: output.choices.map(({ value }) => value) };
  return { type: output.type === 'boolean' ? 'boolean' : 'number' };
}

/** An answer read from a judge's text. */
export interface ReadAnswer extends Answer {
  score: number;
  reasoning?: string;
}

/** A text is not a valid answer. The message says what to correct, in at most 2,000 characters. */
export class UnreadableAnswer extends Error {}

/**
 * Reads a model's answer: one JSON object, optionally in a Markdown fence or after the model's thoughts. Does not guess.
 *
 * @throws UnreadableAnswer for an answer of another form, out of bounds or with an unknown choice
 */
export function readAnswerText(output: Output, text: string): ReadAnswer {
  const value = parse(withoutWrapping(text));
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

/** Removes a reasoning model's thoughts before the answer, and a Markdown fence around it. */
function withoutWrapping(text: string): string {
  const answer = withoutThoughts(text.trim());
  return /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i.exec(answer)?.[1]?.trim() ?? answer;
}

/** Some servers omit the start tag of the thoughts. A text that starts with the answer has no thoughts before it. */
function withoutThoughts(text: string): string {
  if (/^[{`]/.test(text)) return text;
  const end = text.indexOf('</think>');
  return end < 0 ? text : text.slice(end + '</think>'.length).trim();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
