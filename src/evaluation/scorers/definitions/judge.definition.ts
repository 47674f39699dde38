import type { FieldError } from '#platform/problem';
import { DefinitionReader } from './definition.reader';
import { OUTPUT_TYPES, readOutput } from './output.definition';

export const JUDGE_BACKENDS = ['llm', 'classifier'] as const;
export type JudgeBackend = (typeof JUDGE_BACKENDS)[number];

export const PROMPT_MAX = 100_000;
export const MODEL_MAX = 255;
export const SAMPLES_MAX = 20;
export const TEMPERATURE_MAX = 2;

/** What is wrong with the definition of an `llm_judge` scorer. A classifier chooses, so its output is a choice. */
export function faultsOfJudge(definition: unknown, pointer: string): FieldError[] {
  return DefinitionReader.faultsOf(definition, pointer, (reader) => {
    const backend = reader.oneOf('backend', JUDGE_BACKENDS, { optional: true }) ?? 'llm';
    const isClassifier = backend === 'classifier';
    reader.text('model', MODEL_MAX, { optional: true });
    reader.text('prompt', PROMPT_MAX, { optional: isClassifier });
    reader.object('output', (output) => readOutput(output, isClassifier ? ['choice'] : OUTPUT_TYPES));
    reader.boolean('reasoning');
    reader.integer('samples', 1, SAMPLES_MAX);
    reader.number('temperature', { optional: true, min: 0, max: TEMPERATURE_MAX });
  });
}

/** The backend that a valid definition names; `llm` unless it says otherwise. */
export const judgeBackendOf = (definition: { backend?: JudgeBackend | null }): JudgeBackend =>
  definition.backend ?? 'llm';
