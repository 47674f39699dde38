import { isJsonObject, pointerToken } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import type { Output, SingleOutput } from './definition.forms';
import { cutText } from './limits';

/** An answer: `choice` for a choice, `value` for a boolean or a number, `answers` for questions, by their keys. */
export interface Answer {
  choice?: string;
  value?: boolean | number;
  answers?: Record<string, string | boolean | number>;
}

/** An answer as it was sent. Null means absent. */
export type AnswerInput = { readonly [Member in keyof Answer]?: unknown };

/** A valid answer and its score. */
export interface ScoredAnswer {
  answer: Answer;
  /** Finite: the choice's score, 1 or 0, the number itself, or the mean of the questions' scores. */
  score: number;
}

const MEMBERS = ['choice', 'value', 'answers'] as const;

/** The names of an answer's members in a request, for faults. */
type MemberNames = Record<(typeof MEMBERS)[number], string>;
const OWN_NAMES: MemberNames = { choice: 'choice', value: 'value', answers: 'answers' };

const MEMBER_OF = { choice: 'choice', boolean: 'value', numeric: 'value', questions: 'answers' } as const;

/** Maximum length of the list of choices in a fault, in UTF-16 code units. */
const SHOWN_CHOICES_MAX = 1_000;

/** The faults of an answer. */
interface Faults {
  /** Missing, of the wrong type, or out of bounds. */
  form: FieldError[];
  /** Unknown choices. */
  unknown: FieldError[];
}

/**
 * Reads the answer of a person or a judge to an `output`, and computes its score: the score of the choice, 1 or 0 for a
 * boolean, the number itself, or the mean over the questions.
 *
 * Throws 400 for an answer that is missing, has the wrong type, is out of bounds, or is for another type of output. The
 * returned `scored` throws 422 for an unknown choice. There are two steps because the checks for 404 and 409 come between
 * those for 400 and 422.
 */
export function readAnswer(
  output: Output,
  input: AnswerInput,
  names: MemberNames = OWN_NAMES,
): { scored: () => ScoredAnswer } {
  const faults: Faults = { form: [], unknown: [] };
  const member = MEMBER_OF[output.type];
  for (const other of MEMBERS) {
    if (other !== member && isPresent(input[other])) {
      const detail = `does not fit an output of type ${output.type}. Use ${names[member]} instead`;
      faults.form.push({ pointer: `/${names[other]}`, detail });
    }
  }
  const scored =
    output.type === 'questions'
      ? readAnswers(output.questions, input.answers, faults)
      : readSingle(output, input[member], `/${names[member]}`, faults);
  if (faults.form.length > 0) throw problem.invalidFields(faults.form);
  return {
    scored: () => {
      if (faults.unknown.length > 0) throw problem.validationFailed(faults.unknown);
      const { value, score } = scored!;
      return { answer: { [member]: value }, score };
    },
  };
}

/** Reads an answer in one step, see {@link readAnswer}. */
export const scoreOfAnswer = (output: Output, input: AnswerInput): ScoredAnswer =>
  readAnswer(output, input).scored();

/** Returns the least and the greatest score that an output allows. */
export function rangeOf(output: Output): { min: number; max: number } {
  switch (output.type) {
    case 'boolean':
      return { min: 0, max: 1 };
    case 'numeric':
      return { min: output.min, max: output.max };
    case 'choice': {
      const scores = output.choices.map(({ score }) => score);
      return { min: Math.min(...scores), max: Math.max(...scores) };
    }
    case 'questions': {
      const ranges = output.questions.map((question) => rangeOf(question.output));
      return { min: mean(ranges.map(({ min }) => min)), max: mean(ranges.map(({ max }) => max)) };
    }
  }
}

interface Read<Value> {
  value: Value;
  score: number;
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

function readAnswers(
  questions: Extract<Output, { type: 'questions' }>['questions'],
  input: unknown,
  faults: Faults,
): Read<Record<string, unknown>> | undefined {
  if (!isJsonObject(input)) {
    faults.form.push({
      pointer: '/answers',
      detail: 'must be an object with an answer for each question key',
    });
    return undefined;
  }
  const keys = new Set(questions.map(({ key }) => key));
  const others = Object.keys(input).filter((key) => !keys.has(key));
  for (const key of others) {
    faults.form.push({ pointer: `/answers/${pointerToken(key)}`, detail: 'is not the key of a question' });
  }
  const read = questions.map(({ key, output }) => {
    const own = Object.hasOwn(input, key) ? input[key] : undefined;
    return [key, readSingle(output, own, `/answers/${pointerToken(key)}`, faults)] as const;
  });
  const scores = read.flatMap(([, one]) => one?.score ?? []);
  if (scores.length < questions.length) return undefined;
  // fromEntries defines members, so that a question may be named __proto__.
  return { value: Object.fromEntries(read.map(([key, one]) => [key, one!.value])), score: mean(scores) };
}

function readSingle(
  output: SingleOutput,
  input: unknown,
  pointer: string,
  faults: Faults,
): Read<string | boolean | number> | undefined {
  const refuse = (detail: string): undefined => {
    faults.form.push({
      pointer,
      detail: isPresent(input) ? `must be ${detail}` : `is required, and must be ${detail}`,
    });
  };
  switch (output.type) {
    case 'boolean':
      return typeof input === 'boolean' ? { value: input, score: Number(input) } : refuse('true or false');
    case 'numeric': {
      const { min, max } = output;
      const fits = typeof input === 'number' && input >= min && input <= max;
      return fits ? { value: input, score: input } : refuse(`a number from ${min} to ${max}`);
    }
    case 'choice': {
      if (typeof input !== 'string') return refuse('the value of a choice');
      const choice = output.choices.find(({ value }) => value === input);
      if (choice) return { value: input, score: choice.score };
      const choices = output.choices.map(({ value }) => value).join(', ');
      faults.unknown.push({ pointer, detail: `must be one of ${cutText(choices, SHOWN_CHOICES_MAX)}` });
      return undefined;
    }
  }
}

/** Returns the mean, which is finite even if the sum is not. */
function mean(numbers: readonly number[]): number {
  const sum = numbers.reduce((total, one) => total + one, 0);
  if (Number.isFinite(sum)) return sum / numbers.length;
  return numbers.reduce((total, one) => total + one / numbers.length, 0);
}
