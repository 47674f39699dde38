import type { FieldError } from '#platform/problem';
import { cutText, MAX_ERROR_LENGTH } from '../engine/limits';
import { DefinitionReader } from './definition.reader';
import { parsePrompt } from '../../judges/prompt/prompt.template';
import type { Output } from './output.answer';
import { OUTPUT_TYPES, readOutput } from './output.definition';

export const JUDGE_BACKENDS = ['llm', 'classifier'] as const;
export type JudgeBackendName = (typeof JUDGE_BACKENDS)[number];

export const PROMPT_MAX = 100_000;
export const MODEL_MAX = 255;
export const SAMPLES_MAX = 20;
export const TEMPERATURE_MAX = 2;

/** A valid definition of an `llm_judge` scorer. Null counts as left out. */
export interface JudgeDefinition {
  backend?: JudgeBackendName | null;
  model?: string | null;
  /** Mustache; only a classifier may go without it. */
  prompt?: string | null;
  output: Output;
  reasoning?: boolean | null;
  samples?: number | null;
  temperature?: number | null;
}

/** What is wrong with the definition of an `llm_judge` scorer. A classifier chooses, so its output is a choice. */
export function faultsOfJudge(definition: unknown, pointer: string): FieldError[] {
  return DefinitionReader.faultsOf(definition, pointer, (reader) => {
    const backend = reader.oneOf('backend', JUDGE_BACKENDS, { optional: true }) ?? 'llm';
    const isClassifier = backend === 'classifier';
    reader.text('model', MODEL_MAX, { optional: true });
    const prompt = reader.text('prompt', PROMPT_MAX, { optional: isClassifier });
    if (prompt !== undefined) checkPrompt(reader, prompt);
    reader.object('output', (output) => readOutput(output, isClassifier ? ['choice'] : OUTPUT_TYPES));
    reader.boolean('reasoning');
    reader.integer('samples', 1, SAMPLES_MAX);
    reader.number('temperature', { optional: true, min: 0, max: TEMPERATURE_MAX });
  });
}

function checkPrompt(reader: DefinitionReader, prompt: string): void {
  try {
    parsePrompt(prompt);
  } catch (error) {
    reader.fault('prompt', cutText((error as Error).message, MAX_ERROR_LENGTH));
  }
}

/** The backend that a valid definition names; `llm` unless it says otherwise. */
export const judgeBackendOf = (definition: { backend?: JudgeBackendName | null }): JudgeBackendName =>
  definition.backend ?? 'llm';
