import { TestEngine } from '../../scorers/engine/threads/code-engine.fixture';
import type { ScoreOutcome, ScoringSubject } from '../../scorers/engine/subject';

/** Runs a script in the sandbox, as the service does. */
export class SourceRunner {
  private readonly engine = new TestEngine();

  constructor(private readonly source: string) {}

  run(subject: Partial<ScoringSubject>): Promise<ScoreOutcome> {
    return this.engine.script(this.source, subject);
  }

  /** Returns the score, or the error. */
  async score(subject: Partial<ScoringSubject>): Promise<number | string | null> {
    const outcome = await this.run(subject);
    return 'error' in outcome ? outcome.error : outcome.score;
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}
