import type { DefinitionReader } from './definition.reader';

/** What a judge or a person answers with. */
export const OUTPUT_TYPES = ['choice', 'boolean', 'numeric', 'questions'] as const;
export type OutputType = (typeof OUTPUT_TYPES)[number];

export const CHOICES_MAX = 100;
export const QUESTIONS_MAX = 50;
export const VALUE_MAX = 255;
export const TEXT_MAX = 10_000;

/**
 * Reads the `output` of a definition. `choice`: a list of values, each with its score. `numeric`: from `min` to `max`.
 * `questions`: a list, each with an output of its own that is not questions again.
 */
export function readOutput(
  reader: DefinitionReader,
  allowed: readonly OutputType[] = OUTPUT_TYPES,
): OutputType | undefined {
  const type = reader.oneOf('type', allowed);
  if (type === 'choice') readChoices(reader);
  if (type === 'numeric') readBounds(reader);
  if (type === 'questions') readQuestions(reader);
  return type;
}

function readChoices(reader: DefinitionReader): void {
  reader.list('choices', { min: 2, max: CHOICES_MAX, key: 'value' }, (choice) => {
    choice.text('value', VALUE_MAX);
    choice.number('score');
    choice.text('description', TEXT_MAX, { optional: true, min: 0 });
  });
}

function readBounds(reader: DefinitionReader): void {
  const min = reader.number('min');
  const max = reader.number('max');
  if (min !== undefined && max !== undefined && min >= max) reader.fault('max', 'must be greater than min');
}

function readQuestions(reader: DefinitionReader): void {
  const single = OUTPUT_TYPES.filter((type) => type !== 'questions');
  reader.list('questions', { min: 1, max: QUESTIONS_MAX, key: 'key' }, (question) => {
    question.text('key', VALUE_MAX);
    question.text('question', TEXT_MAX);
    question.object('output', (output) => readOutput(output, single));
  });
}
