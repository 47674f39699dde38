import type { Owner } from '#platform/concurrency';
import { DEFAULT_MEMORY_MB, DEFAULT_TIMEOUT_MS } from '../../definitions/limits';
import { SandboxPool } from './sandbox.pool';
import type { TaskEnding } from './sandbox.pool';
import type { ScoreOutcome, ScoringSubject } from '../score-outcome';
import { encodeSubject } from '../subject.codec';
import { describeStop } from '../javascript/script.result';
import type { ScriptBounds } from '../javascript/script.result';

/** A scorer in JavaScript. */
export interface Script {
  /** Defines `score({input, output, expected, metadata, trace, session})`. */
  source: string;
  /** Time of one run, in ms. */
  timeoutMs: number;
  /** What one run may allocate, in MiB. */
  memoryMb: number;
}

/**
 * Runs scorers that tenants wrote in JavaScript (contract section 10, scorers of kind `code`).
 *
 * A run sees its subject, as values of its own, and what ECMAScript 2023 defines; no network, no files, no modules, no
 * timers. The clock stands at 2000-01-01T00:00:00Z in UTC and `Math.random` gives the same numbers in each run, so
 * that a score can be repeated. Nothing asynchronous runs. On top of the language there are `levenshtein(a, b)` (edits
 * between two strings, in UTF-16 code units), `levenshteinSimilarity(a, b)` (1 less the edits divided by the length
 * of the longer; 1 for two empty strings), both for strings of at most 20,000 code units, and a `console` that
 * discards.
 *
 * Each run starts from the same pristine interpreter. A run that exceeds its time is stopped by the interpreter or, in
 * a native call, by the end of its thread; one that exceeds its memory gets an error it may catch.
 */
export class JavaScriptSandbox {
  /** Shares `pool` with others, or has one of its own. */
  constructor(private readonly pool: SandboxPool = new SandboxPool()) {}

  /**
   * Scores one subject. Runs wait for one another in a queue in which owners take turns; a run's time begins when a
   * thread takes it up.
   *
   * @param owner whose turn it uses, by default that of the source
   * @returns the score, or the item's `error` whatever the source does
   * @throws the signal's reason when it is aborted; an Error when the sandbox is closed or cannot be started
   */
  async run(
    script: Script,
    subject: ScoringSubject,
    signal?: AbortSignal,
    owner: Owner = script.source,
  ): Promise<ScoreOutcome> {
    const encoded = encodeSubject(subject);
    if ('error' in encoded) return encoded;
    const { timeoutMs, memoryMb } = script;
    const task = { kind: 'script' as const, source: script.source, timeoutMs, memoryMb, ...encoded };
    const end = await this.pool.run(task, { timeoutMs, owner, signal });
    return 'answer' in end ? end.answer : { error: describeEnd(end.ended, script) };
  }

  /**
   * Whether a source can be a scorer: it is evaluated once, without calling `score`.
   *
   * @returns null, or what is wrong with it, with the line where there is one
   * @throws as {@link run}
   */
  async checkJavaScript(source: string, signal?: AbortSignal, owner: Owner = source): Promise<string | null> {
    const bounds = { timeoutMs: DEFAULT_TIMEOUT_MS, memoryMb: DEFAULT_MEMORY_MB };
    const options = { timeoutMs: bounds.timeoutMs, owner, signal };
    const end = await this.pool.run({ kind: 'check-script' as const, source, ...bounds }, options);
    return 'answer' in end ? end.answer : describeEnd(end.ended, bounds);
  }

  /** Ends all runs and threads. */
  close(): Promise<void> {
    return this.pool.close();
  }
}

function describeEnd(ended: TaskEnding, bounds: ScriptBounds): string {
  return describeStop(ended === 'crashed' ? 'fault' : ended, bounds);
}
