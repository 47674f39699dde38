import { ownApp, createTestWorker, type TestWorker } from '#testing';
import {
  ScoringRuleRepository,
  type ActiveRule,
} from '../../src/evaluation/scoring/rules/scoring-rule.repository';
import { ScoringRuleRunner } from '../../src/evaluation/scoring/rules/scoring-rule.runner';
import { TraceFeedRepository } from '../../src/telemetry';
import { RulesFixture, settled } from './scoring-rules.fixture';

/** Two workers that run a rule at the same time process each arrival once. */
describe('a scoring rule', () => {
  const app = ownApp();
  let workers: TestWorker[];
  let rules: RulesFixture;

  beforeAll(async () => {
    workers = [await createTestWorker(app), await createTestWorker(app)];
  });
  afterAll(async () => {
    for (const worker of workers) await worker.close();
  });
  beforeEach(async () => {
    rules = await RulesFixture.create(app, () => workers);
  });

  /** Runs the rule as if this worker had leased it. The schedules of workers skip it because of its quiet time. */
  const take = async (worker: TestWorker, { rule_id }: any): Promise<boolean> => {
    const all = await worker.get(ScoringRuleRepository).listActive('', 1_000, 3);
    const watched = all.find((one) => one.rule_id === rule_id) as ActiveRule;
    const { settled_us } = await worker.get(TraceFeedRepository).clock();
    return worker.get(ScoringRuleRunner).step(watched, settled_us);
  };
  const QUIET = { quiet_seconds: 86_400 };

  it('counts and scores arrivals once when two workers run it', async () => {
    const rule = await rules.rule(QUIET);
    const traceIds = await rules.traces(8);
    await settled(app);
    await Promise.all([...workers, ...workers].map((worker) => take(worker, rule)));
    expect(await rules.read(rule)).toMatchObject({ seen_count: 8, chosen_count: 8, ordered_count: 8 });
    expect(await rules.scored(rule)).toEqual(traceIds.sort());
  });

  it('counts skipped arrivals once when two workers run it', async () => {
    const rule = await rules.rule({ ...QUIET, sample_rate: 0 });
    await rules.traces(8);
    await settled(app);
    await Promise.all([...workers, ...workers].map((worker) => take(worker, rule)));
    expect(await rules.read(rule)).toMatchObject({ seen_count: 8, chosen_count: 0 });
  });

  it.each([
    ['changed', { sample_rate: 0 }],
    ['disabled', { enabled: false }],
  ])('starts no run when it is %s meanwhile', async (_, change) => {
    const rule = await rules.rule(QUIET);
    await rules.on.trace();
    await settled(app);
    const arrivals = workers[0]!.get(TraceFeedRepository);
    const { read } = arrivals;
    const spy = jest.spyOn(arrivals, 'read').mockImplementationOnce(async (...args) => {
      const arrived = await read.apply(arrivals, args);
      await rules.patch(rule, change);
      return arrived;
    });
    expect(await take(workers[0]!, rule)).toBe(false);
    spy.mockRestore();
    expect(await rules.runs(rule)).toEqual([]);
    expect(await rules.read(rule)).toMatchObject({ ...change, seen_count: 0 });
  });

  it('shares targets with a concurrent request, so that each is scored once', async () => {
    const scorer = await rules.on.scorer();
    const rule = await rules.rule(QUIET, scorer);
    const traceIds = (await rules.traces(20)).sort();
    await settled(app);
    const selection = { since: '2020-01-01T00:00:00Z', unscored_only: true, limit: 100 };
    const [answer] = await Promise.all([rules.on.score(scorer, selection), take(workers[0]!, rule)]);
    const byRequest: string[] = [];
    if (answer.status === 202) {
      await rules.on.finished(answer.body.score_run_id);
      const results = await rules.on.resultsOf(answer.body.score_run_id);
      byRequest.push(...results.map((one) => one.trace_id as string));
    }
    expect([...byRequest, ...(await rules.scored(rule))].sort()).toEqual(traceIds);
  });
});
