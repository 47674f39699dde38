import { pointerToken } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import { cutText } from '../engine/limits';

/** The `output` of a valid definition that is answered with one value. */
export type SingleOutput =
  | { type: 'choice'; choices: { value: string; score: number; description?: string | null }[] }
  | { type: 'boolean' }
  | { type: 'numeric'; min: number; max: number };

/** The `output` of a valid definition of a judge or of people. */
export type Output =
  SingleOutput | { type: 'questions'; questions: { key: string; question: string; output: SingleOutput }[] };

/** What is answered: `choice` of a choice, `value` of a boolean or a number, `answers` of questions, by their keys. */
export interface Answer {
  choice?: string;
  value?: boolean | number;
  answers?: Record<string, string | boolean | number>;
}

/** An answer as it arrives. Null counts as left out. */
export type GivenAnswer = { readonly [Member in keyof Answer]?: unknown };

/** An answer that its output has, and what it makes for a score. */
export interface ScoredAnswer {
  answer: Answer;
  /** Finite: the choice's score, 1 or 0, the number itself, or the mean of the questions' scores. */
  score: number;
}

const MEMBERS = ['choice', 'value', 'answers'] as const;
const MEMBER_OF = { choice: 'choice', boolean: 'value', numeric: 'value', questions: 'answers' } as const;

/** Characters that an answer repeats of the choices there are. */
const SHOWN_CHOICES_MAX = 1_000;

/** What is wrong with an answer. */
interface Faults {
  /** Of the wrong form, missing, or out of bounds. */
  form: FieldError[];
  /** Texts that are none of the choices. */
  unknown: FieldError[];
}

/**
 * Reads what a person or a judge answered to an `output`, and computes its score: of `choice` that of the choice, of
 * `boolean` 1 or 0, of `numeric` the number, of `questions` the mean of the scores of all of them.
 *
 * @returns the answer with its score, checked when `score` is called: 400 for what is missing, of another type, out of
 *   bounds, or does not go with the output; 422 for a text that is none of the choices. They are two steps because
 *   between them stand a request's 404 and 409.
 */
export function readAnswer(output: Output, given: GivenAnswer): { scored: () => ScoredAnswer } {
  const faults: Faults = { form: [], unknown: [] };
  const member = MEMBER_OF[output.type];
  for (const other of MEMBERS) {
    if (other !== member && isGiven(given[other])) {
      const detail = `does not go with an output of the type ${output.type}, which is answered by ${member}`;
      faults.form.push({ pointer: `/${other}`, detail });
    }
  }
  const scored =
    output.type === 'questions'
      ? readAnswers(output.questions, given.answers, faults)
      : readSingle(output, given[member], `/${member}`, faults);
  if (faults.form.length > 0) throw problem.invalidFields(faults.form);
  return {
    scored: () => {
      if (faults.unknown.length > 0) throw problem.validationFailed(faults.unknown);
      const { value, score } = scored!;
      return { answer: { [member]: value }, score };
    },
  };
}

/** The same in one step. */
export const scoreOfAnswer = (output: Output, given: GivenAnswer): ScoredAnswer =>
  readAnswer(output, given).scored();

interface Read<Value> {
  value: Value;
  score: number;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function readAnswers(
  questions: Extract<Output, { type: 'questions' }>['questions'],
  given: unknown,
  faults: Faults,
): Read<Record<string, unknown>> | undefined {
  if (!isJsonObject(given)) {
    faults.form.push({ pointer: '/answers', detail: 'must be an object of question key to answer' });
    return undefined;
  }
  const known = new Set(questions.map(({ key }) => key));
  const others = Object.keys(given).filter((key) => !known.has(key));
  for (const key of others) {
    faults.form.push({ pointer: `/answers/${pointerToken(key)}`, detail: 'is the key of no question' });
  }
  const read = questions.map(({ key, output }) => {
    const own = Object.hasOwn(given, key) ? given[key] : undefined;
    return [key, readSingle(output, own, `/answers/${pointerToken(key)}`, faults)] as const;
  });
  const scores = read.flatMap(([, one]) => one?.score ?? []);
  if (scores.length < questions.length) return undefined;
  // fromEntries defines members, so that a question named __proto__ is one like any other
  return { value: Object.fromEntries(read.map(([key, one]) => [key, one!.value])), score: mean(scores) };
}

function readSingle(
  output: SingleOutput,
  given: unknown,
  pointer: string,
  faults: Faults,
): Read<string | boolean | number> | undefined {
  const refuse = (detail: string): undefined => {
    faults.form.push({ pointer, detail: isGiven(given) ? `must be ${detail}` : `is required: ${detail}` });
  };
  switch (output.type) {
    case 'boolean':
      return typeof given === 'boolean' ? { value: given, score: Number(given) } : refuse('true or false');
    case 'numeric': {
      const { min, max } = output;
      const fits = typeof given === 'number' && given >= min && given <= max;
      return fits ? { value: given, score: given } : refuse(`a number from ${min} to ${max}`);
    }
    case 'choice': {
      if (typeof given !== 'string') return refuse('the value of a choice, a text');
      const choice = output.choices.find(({ value }) => value === given);
      if (choice) return { value: given, score: choice.score };
      const known = output.choices.map(({ value }) => value).join(', ');
      faults.unknown.push({ pointer, detail: `must be one of ${cutText(known, SHOWN_CHOICES_MAX)}` });
      return undefined;
    }
  }
}

/** Finite for finite numbers, also where their sum is not. */
function mean(numbers: readonly number[]): number {
  const sum = numbers.reduce((total, one) => total + one, 0);
  if (Number.isFinite(sum)) return sum / numbers.length;
  return numbers.reduce((total, one) => total + one / numbers.length, 0);
}
