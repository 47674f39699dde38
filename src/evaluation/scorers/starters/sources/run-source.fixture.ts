import { MAX_TIMEOUT_MS } from '../../definitions/limits';
import { ScorerEngine } from '../../engine/pool/scorer.engine';
import type { ScoreOutcome, ScoringSubject } from '../../engine/score-outcome';

const NOTHING: ScoringSubject = {
  input: null,
  output: null,
  expected: null,
  metadata: null,
  trace: null,
  session: null,
};

/** Runs a script in the sandbox, as the service does. */
export class SourceRunner {
  private readonly engine = new ScorerEngine({ threads: 1 });

  constructor(private readonly source: string) {}

  run(subject: Partial<ScoringSubject>): Promise<ScoreOutcome> {
    const definition = { language: 'javascript', source: this.source, timeout_ms: MAX_TIMEOUT_MS };
    return this.engine.run(definition, { ...NOTHING, ...subject }, new AbortController().signal, 'test');
  }

  /** The score, or the error. */
  async score(subject: Partial<ScoringSubject>): Promise<number | string | null> {
    const outcome = await this.run(subject);
    return 'error' in outcome ? outcome.error : outcome.score;
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}
