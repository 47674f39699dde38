import type { FieldError } from '#platform/problem';
import { DefinitionReader } from './definition.reader';
import type { Output } from './output.answer';
import { readOutput } from './output.definition';

export const RUBRIC_MAX = 100_000;
export const ANNOTATIONS_MAX = 100;

/** A valid definition of a `human` scorer, as far as the service reads it. */
export interface HumanDefinition {
  /** What people are to look at. */
  rubric: string;
  output: Output;
  /** People who must have scored a result before what they say lands in it. */
  min_annotations?: number | null;
}

/** What is wrong with the definition of a `human` scorer. */
export function faultsOfHuman(definition: unknown, pointer: string): FieldError[] {
  return DefinitionReader.faultsOf(definition, pointer, (reader) => {
    reader.text('rubric', RUBRIC_MAX);
    reader.object('output', (output) => readOutput(output));
    reader.integer('min_annotations', 1, ANNOTATIONS_MAX);
  });
}

/** How many people must have scored a result; one unless the definition says otherwise. */
export const minAnnotationsOf = (definition: HumanDefinition): number => definition.min_annotations ?? 1;
