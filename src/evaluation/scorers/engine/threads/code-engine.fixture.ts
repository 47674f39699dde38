import type { Owner } from '#platform/concurrency';
import type { Environment } from '#platform/config';
import { CodeEngine } from './code.engine';
import type { ScoreOutcome, ScoringSubject } from '../subject';

const EMPTY: ScoringSubject = {
  input: null,
  output: null,
  expected: null,
  metadata: null,
  trace: null,
  session: null,
};

export interface RunOptions {
  timeoutMs?: number;
  memoryMb?: number;
  signal?: AbortSignal;
  owner?: Owner;
}

/** An engine whose calls have defaults, for tests. */
export class TestEngine extends CodeEngine {
  constructor(threads = 1) {
    super({ SCORER_THREADS: threads } as Environment);
  }

  /** Scores a subject with a script. Absent members are null. */
  script(
    source: string,
    subject: Partial<ScoringSubject> = {},
    { timeoutMs = 10_000, memoryMb = 32, ...options }: RunOptions = {},
  ): Promise<ScoreOutcome> {
    const definition = { language: 'javascript', source, timeout_ms: timeoutMs, memory_mb: memoryMb };
    return this.score(definition, subject, options);
  }

  score(
    definition: unknown,
    subject: Partial<ScoringSubject>,
    { signal = new AbortController().signal, owner = 'test' }: RunOptions = {},
  ): Promise<ScoreOutcome> {
    return this.run(definition, { ...EMPTY, ...subject }, signal, owner);
  }

  /** Validates a definition, and returns its faults as texts. */
  async faults(definition: unknown): Promise<string[]> {
    const faults = await this.validate(definition, new AbortController().signal, 'test');
    return faults.map(({ pointer, detail }) => `${pointer} ${detail}`);
  }
}
