import type { DefinitionProblem } from '../definition/code.definition';
import type { ScoreOutcome } from '../score-outcome';

/**
 * What a sandbox thread can be asked to do. `members` are JSON texts in the order of `SUBJECT_MEMBERS`, `definition` is the
 * JSON text of a definition, `ofSession` tells that a session is scored.
 */
export type ThreadTask =
  | { kind: 'script'; source: string; timeoutMs: number; memoryMb: number; members: readonly string[] }
  | { kind: 'check-script'; source: string; timeoutMs: number; memoryMb: number }
  | { kind: 'checks'; definition: string; members: readonly string[]; ofSession: boolean }
  | { kind: 'validate'; definition: string };

/** What it answers to each kind of task. */
export interface ThreadAnswers {
  script: ScoreOutcome;
  'check-script': string | null;
  checks: ScoreOutcome;
  validate: DefinitionProblem[];
}

/** First message of a thread: it can take tasks. `wasm` is the compiled interpreter, for threads started later. */
export interface ThreadReady {
  wasm: WebAssembly.Module;
}

/** Every later message: the answer to the one task it was given. */
export interface ThreadReply {
  answer: ThreadAnswers[keyof ThreadAnswers];
}
