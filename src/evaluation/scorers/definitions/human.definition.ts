import type { FieldError } from '#platform/problem';
import { DefinitionReader } from './definition.reader';
import { readOutput } from './output.definition';

const RUBRIC_MAX = 100_000;
const ANNOTATIONS_MAX = 100;

/** What is wrong with the definition of a `human` scorer. */
export function faultsOfHuman(definition: unknown, pointer: string): FieldError[] {
  return DefinitionReader.faultsOf(definition, pointer, (reader) => {
    reader.text('rubric', RUBRIC_MAX);
    reader.object('output', (output) => readOutput(output));
    reader.integer('min_annotations', 1, ANNOTATIONS_MAX);
  });
}
