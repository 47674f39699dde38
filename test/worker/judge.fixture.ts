import { createHash } from 'node:crypto';
import { type JudgedApp, type JudgeReply, sharedJudge, type TestApp, type TestJudgeRequest } from '#testing';
import { LearnedLimits } from '../../src/model-gateway';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';

export const CHOICES = {
  type: 'choice',
  choices: [
    { value: 'good', score: 1 },
    { value: 'fair', score: 0.5 },
    { value: 'bad', score: 0 },
  ],
};

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
export const GOOD = { reasoning: 'because', choice: 'good' };
/** Cost of the 100 input tokens and 10 output tokens that the judge reports, in US dollars. */
export const COST = (100 * 10 + 10 * 100) / 1e6;
/** The most that a request can cost: a token for each byte, and `JUDGE_MAX_TOKENS`. */
export const mostCost = (request: string): number => (request.length * 10 + 4_096 * 100) / 1e6;
export const PRICES = { 'judge-1': { input_usd_per_million: 10, output_usd_per_million: 100 } };

/** The reply of a chat model with this answer. */
export const says = (answer: object, more: object = {}): JudgeReply => ({
  content: JSON.stringify(answer),
  ...more,
});

/** A workspace for testing judges over HTTP. */
export class JudgeFixture {
  private constructor(readonly scoring: ScoringFixture) {}

  static async create(app: TestApp): Promise<JudgeFixture> {
    return new JudgeFixture(await ScoringFixture.create(app));
  }

  /** Creates a scorer of kind `llm_judge`. */
  scorer(definition: object = {}, members: object = {}): Promise<any> {
    const judge = { prompt: 'Is {{output}} right for {{input}}?', output: CHOICES };
    return this.scoring.scorer({
      scorer_kind: 'llm_judge',
      definition: { ...judge, ...definition },
      ...members,
    });
  }

  /** Creates an experiment with these results, or with one by default. */
  async experiment(...results: object[]): Promise<any> {
    const experiment = await this.scoring.experiment();
    await this.scoring.results(experiment, results.length > 0 ? results : [{ input: 'in', output: 'out' }]);
    return experiment;
  }

  /** Scores the results of an experiment in a run, and waits for the run. */
  async completeRun(
    scorer: any,
    { experiment_id }: any,
    body: object = {},
  ): Promise<{ run: any; results: any[] }> {
    const { status, body: queued } = await this.scoring.score(scorer, { experiment_id, ...body });
    if (status !== 202) throw new Error(JSON.stringify(queued));
    const run = await this.scoring.finished(queued.score_run_id);
    return { run, results: await this.scoring.resultsOf(queued.score_run_id) };
  }

  /** Returns the items of `test` or `preview` for the results of an experiment. */
  async scoreInMode(
    mode: 'test' | 'preview',
    scorer: any,
    { experiment_id }: any,
    body: object = {},
  ): Promise<any[]> {
    const answer = await this.scoring.score(scorer, { experiment_id, mode, ...body });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.results;
  }

  /** Returns the item of `test` for one result. */
  async testResult(definition: object, result: object = { input: 'in', output: 'out' }): Promise<any> {
    const [item] = await this.scoreInMode(
      'test',
      await this.scorer(definition),
      await this.experiment(result),
    );
    return item;
  }
}

/** Returns results with distinct inputs. */
export const inputs = (count: number) =>
  Array.from({ length: count }, (_, input) => ({ input: `<${input}>` }));

/** Expects that every target has one outcome, a score of 1 or an error, and that the run counts them. */
export function expectAccounted(run: any, results: any[]): void {
  expect(results).toHaveLength(run.total);
  expect(new Set(results.map((one) => one.trace_id)).size).toBe(run.total);
  const failed = results.filter((one) => one.error !== undefined);
  expect(run).toMatchObject({
    completed_count: run.total - failed.length,
    failed_count: failed.length,
  });
  for (const one of failed) {
    expect(one.error).not.toBe('');
    expect(one).not.toHaveProperty('score');
  }
  for (const one of results) if (one.error === undefined) expect(one.score).toBe(1);
}

/** Returns the texts between data delimiters in the last user message. */
export function dataOf({ prompt }: TestJudgeRequest): string[] {
  return [...prompt.matchAll(/<data-([0-9a-f]{32})>\n([\s\S]*?)\n<\/data-\1>/g)].map(([, , data]) => data!);
}

/** A service with a judge, for one test. */
export interface JudgedService extends JudgedApp {
  /** A new workspace. */
  fixture: JudgeFixture;
}

/** The private limits of a process, by judge. */
interface Limits {
  limits: { clear(): void };
}

/** Restores the state of a new judge: it agrees, and neither its features nor its rate limit are known. */
export async function resetJudge({ app, worker, judge }: JudgedApp): Promise<void> {
  judge.reset();
  await app.database.query('DELETE FROM judge_features');
  await app.database.query('DELETE FROM model_limits');
  for (const one of [app, worker]) (one.get(LearnedLimits) as unknown as Limits).limits.clear();
}

/** Resets the shared judge for each test of a suite, and lets it answer "good". */
export function withJudge(use: (service: JudgedService) => void): void {
  const service = sharedJudge();

  beforeEach(async () => {
    const { app, worker, judge } = service;
    await resetJudge(service);
    judge.reply = () => says(GOOD);
    use({ app, worker, judge, fixture: await JudgeFixture.create(app) });
  });
}
