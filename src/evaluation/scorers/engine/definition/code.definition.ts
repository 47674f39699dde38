import type { ChecksDefinition } from '../checks/check.types';

/** A scorer of kind `code` in JavaScript, as its definition is written, defaults filled in. */
export interface ScriptDefinition {
  language: 'javascript';
  /** Defines `score({input, output, expected, metadata, trace, session})`; at most 256 KiB of UTF-8. */
  source: string;
  /** Time of one run in ms, 1 to 10,000, default 1,000. */
  timeout_ms: number;
  /** What one run may allocate in MiB, 2 to 256, default 32. */
  memory_mb: number;
}

/** The definition of a scorer of kind `code`: a script or checks (contract section 10). */
export type CodeDefinition = ScriptDefinition | ChecksDefinition;

export function isScript(definition: CodeDefinition): definition is ScriptDefinition {
  return 'source' in definition;
}

/** What is wrong with a definition. `pointer` (RFC 6901) is into the definition; '' is the definition itself. */
export interface DefinitionProblem {
  pointer: string;
  detail: string;
}
