import { newId } from '#platform/ids';
import { type Answer, type ApiClient, jsonExport, newSpan, newTraceId, type TestApp } from '#testing';
import type { ScoreDto } from '../../../src/evaluation/scores/score.dto';
import type { ScorerDto } from '../../../src/evaluation/scorers/scorer.dto';
import { EvaluationWorkspace, type Page, type Result, type Wire } from './evaluation.harness';

export type HumanScore = Wire<ScoreDto>;
export type Scorer = Wire<ScorerDto>;
type Fields = Record<string, unknown>;

export const SCORES = '/eval/v1/scores';

export const BOOLEAN = { type: 'boolean' };
export const STARS = { type: 'numeric', min: 1, max: 5 };
export const TONE = {
  type: 'choice',
  choices: [
    { value: 'kind', score: 1 },
    { value: 'curt', score: 0.25, description: 'Short, and not unkind.' },
    { value: 'rude', score: -1 },
  ],
};
export const SURVEY = {
  type: 'questions',
  questions: [
    { key: 'tone', question: 'What is its tone?', output: TONE },
    { key: 'right', question: 'Is it right?', output: BOOLEAN },
    { key: 'stars', question: 'How many stars?', output: STARS },
  ],
};

/** A person who scores. */
export interface Annotator {
  id: string;
  api: ApiClient;
}

/** A workspace in which people score. All calls use HTTP. */
export class HumanScoresFixture {
  private names = 0;

  private constructor(
    private readonly app: TestApp,
    readonly space: EvaluationWorkspace,
    readonly ann: Annotator,
  ) {}

  static async open(app: TestApp): Promise<HumanScoresFixture> {
    const space = await EvaluationWorkspace.open(app);
    return new HumanScoresFixture(app, space, await annotatorOf(app, space));
  }

  annotator(): Promise<Annotator> {
    return annotatorOf(this.app, this.space);
  }

  /** Creates a human scorer with the given output. */
  async scorer(output: object = BOOLEAN, fields: Fields = {}, definition: Fields = {}): Promise<Scorer> {
    const answer = await this.space.post<Scorer>('/eval/v1/scorers', {
      name: `person ${++this.names}`,
      scorer_kind: 'human',
      definition: { rubric: 'Is it good?', output, ...definition },
      ...fields,
    });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Sends a score, and returns the response. */
  post(fields: Fields, by: Annotator = this.ann): Promise<Answer<HumanScore>> {
    return by.api.post<HumanScore>(SCORES, { workspace_id: this.space.id, ...fields });
  }

  /** Stores a score, and returns it. Throws if the request fails. */
  async score(scorer: Scorer, fields: Fields, by: Annotator = this.ann): Promise<HumanScore> {
    const answer = await this.post({ scorer_id: scorer.scorer_id, ...fields }, by);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Creates a result in a new experiment. */
  async newResult(fields: Fields = {}): Promise<Result> {
    return this.space.result((await this.space.experiment()).experiment_id, fields);
  }

  /** Exports a trace, and returns its id. */
  async exportTrace(sessionId?: string): Promise<string> {
    const traceId = newTraceId();
    const attributes: Record<string, string> = sessionId === undefined ? {} : { 'session.id': sessionId };
    const body = jsonExport([newSpan({ traceId, attributes })]);
    const answer = await this.space.evaluator.post('/telemetry/v1/traces', body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return traceId;
  }

  async result({ experiment_id, result_id }: { experiment_id: string; result_id: string }): Promise<Result> {
    const path = `/eval/v1/experiments/${experiment_id}/results/${result_id}`;
    return (await this.space.viewer.get<Result>(path)).body;
  }

  /** Returns the ids of the scores that match a query, newest first. */
  async listIds(query: string): Promise<string[]> {
    const answer = await this.space.viewer.get<Page<HumanScore>>(`${SCORES}?${query}`);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.items.map((score) => score.score_id);
  }
}

async function annotatorOf(app: TestApp, { organization }: EvaluationWorkspace): Promise<Annotator> {
  const id = newId('usr');
  const token = await organization.tokenOf(id, { roles: ['annotator'] });
  return { id, api: app.api(token).in(organization.workspaceId) };
}

/** A transaction that a test leaves open to hold locks or uncommitted rows. */
export interface OpenTransaction {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Runs a statement in a transaction, and leaves the transaction open. */
export async function hold(app: TestApp, statement: string, values: unknown[]): Promise<OpenTransaction> {
  const runner = app.database.dataSource.createQueryRunner();
  await runner.startTransaction();
  await runner.query(statement, values);
  return {
    commit: () => runner.commitTransaction().then(() => runner.release()),
    rollback: () => runner.rollbackTransaction().then(() => runner.release()),
  };
}

/** Waits until at least `count` statements wait for a lock. */
export async function untilWaiting(app: TestApp, count: number): Promise<void> {
  const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  while ((await app.database.query(sql)).length < count) await new Promise((then) => setTimeout(then, 10));
}
