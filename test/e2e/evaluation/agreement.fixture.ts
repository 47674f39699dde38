import { randomBytes } from 'node:crypto';
import type { Answer, TestApp } from '#testing';
import type { AgreementDto } from '../../../src/evaluation/scorers/agreement/agreement.dto';
import type { EvaluationWorkspace, Page, Result } from './evaluation.harness';
import { HumanScoresFixture, type Scorer } from './human-scores.fixture';

type Fields = Record<string, unknown>;

export const newTraceId = (): string => randomBytes(16).toString('hex');

/** Returns a score that a client writes into a result under a scorer. */
export const scoreBy = (scorer: Scorer, score: unknown, more: Fields = {}): Fields => ({
  score,
  scorer_id: scorer.scorer_id,
  scorer_version: 1,
  ...more,
});

/** Returns results with client scores of both scorers, one result for each pair. */
export const resultsOfBoth = (
  a: Scorer,
  b: Scorer,
  pairs: readonly (readonly [unknown, unknown])[],
): Fields[] =>
  pairs.map(([x, y], i) => ({ case_id: `${i}`, scores: { a: scoreBy(a, x), b: scoreBy(b, y) } }));

/** A workspace with scorers whose agreement is measured. */
export class AgreementFixture {
  private names = 0;

  private constructor(readonly on: HumanScoresFixture) {}

  static async open(app: TestApp): Promise<AgreementFixture> {
    return new AgreementFixture(await HumanScoresFixture.open(app));
  }

  get space(): EvaluationWorkspace {
    return this.on.space;
  }

  /** Creates a code scorer. */
  async code(source = 'function score({ output }) { return output === "yes"; }'): Promise<Scorer> {
    return this.create('code', { language: 'javascript', source });
  }

  /** Creates a judge that never runs. */
  judge(output: object): Promise<Scorer> {
    return this.create('llm_judge', { prompt: 'Is {{output}} good?', output });
  }

  private async create(scorer_kind: string, definition: object): Promise<Scorer> {
    const body = { name: `${scorer_kind} ${++this.names}`, scorer_kind, definition };
    const answer = await this.space.post<Scorer>('/eval/v1/scorers', body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  ask(scorer: Scorer, query: Record<string, string>): Promise<Answer<AgreementDto>> {
    const parameters = new URLSearchParams(query).toString();
    return this.space.viewer.get<AgreementDto>(
      `/eval/v1/scorers/${scorer.scorer_id}/agreement?${parameters}`,
    );
  }

  async agreement(
    scorer: Scorer,
    reference: Scorer,
    query: Record<string, string> = {},
  ): Promise<AgreementDto> {
    const answer = await this.ask(scorer, { reference_scorer_id: reference.scorer_id, ...query });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Returns the results of an experiment, oldest first. */
  async resultsOf(experimentId: string): Promise<Result[]> {
    const path = `/eval/v1/experiments/${experimentId}/results?limit=500&sort=created_at`;
    return (await this.space.viewer.get<Page<Result>>(path)).body.items;
  }
}
