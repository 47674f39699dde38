import { workspaceScope } from '#platform/auth';
import { createTestWorker, ownApp, TestJudge, type TestWorker, until } from '#testing';
import { ScoringRuleRepository } from '../../src/evaluation/scoring/rules/scoring-rule.repository';
import { ScoringRuleRunner } from '../../src/evaluation/scoring/rules/scoring-rule.runner';
import { CHOICES, COST, GOOD, PRICES, says } from './judge.fixture';
import { ALWAYS, pathOf, RulesFixture, settled, skipQuietSecond } from './scoring-rules.fixture';

const NOTHING_TODAY = { sent_count: 0, skipped_count: 0, scored_count: 0, spent_today_usd: 0 };

describe('a scoring rule with max_cost_usd_per_day', () => {
  let judge: TestJudge;
  let worker: TestWorker;
  let otherWorker: TestWorker;
  let rules: RulesFixture;

  beforeAll(async () => {
    judge = await TestJudge.listen();
  });
  const app = ownApp(() => ({ env: { ...judge.env, MODEL_PRICES: JSON.stringify(PRICES) } }));
  beforeAll(async () => {
    worker = skipQuietSecond(await createTestWorker(app));
    otherWorker = skipQuietSecond(await createTestWorker(app));
    // The tests start the rules.
    for (const one of [worker, otherWorker]) await one.stopPeriodicTasks();
  });
  afterAll(async () => {
    await otherWorker.close();
    await worker.close();
    await judge.close();
  });
  beforeEach(async () => {
    judge.reset();
    judge.reply = () => says(GOOD);
    rules = await RulesFixture.create(app, () => [worker]);
  });

  const judgeScorer = (definition: object = {}): Promise<any> =>
    rules.on.scorer({
      scorer_kind: 'llm_judge',
      definition: { prompt: 'Is {{output}} right?', output: CHOICES, ...definition },
    });
  const ruleWith = async (max_cost_usd_per_day: number, pace = 'greedy'): Promise<any> =>
    rules.rule({ max_cost_usd_per_day, pace }, await judgeScorer());
  let count = 0;
  /** Sends traces whose outputs differ, so that no answer is cached. */
  const traces = async (many: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < many; n++) ids.push(await rules.on.trace({ output: `answer ${count++}` }));
    // so that all of them count as new at the same time
    await settled(app);
    return ids;
  };
  /** Waits until the rule is paused. */
  const paused = async (rule: any): Promise<any> => {
    for (;;) {
      await rules.runDue();
      const current = await rules.read(rule);
      if (current.paused_until) return current;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  /** Sets the share of the day that has passed, for the rules of both workers: the one that ends a run starts the next. */
  const setDayShare = (dayShare: number): void => {
    for (const one of [worker, otherWorker]) {
      const repository = one.get(ScoringRuleRepository);
      const spending = ScoringRuleRepository.prototype.spending.bind(repository);
      jest.spyOn(repository, 'spending').mockImplementation(async (...args) => ({
        ...(await spending(...args)),
        dayShare,
      }));
    }
  };
  /** Moves the rule and its runs one day back. */
  const nextDay = async ({ rule_id }: any): Promise<void> => {
    await app.database.query(
      `UPDATE score_runs SET created_at = created_at - interval '1 day', updated_at = updated_at - interval '1 day'
       WHERE rule_id = $1`,
      [rule_id],
    );
    await app.database.query(
      `UPDATE scoring_rules SET paused_until = now(), counted_day = counted_day - interval '1 day' WHERE rule_id = $1`,
      [rule_id],
    );
  };
  /** Runs the rules in the other worker. Calls `meanwhile` after the worker lists the rules and before it leases them. */
  const runStale = async (meanwhile: () => Promise<unknown>): Promise<void> => {
    const repository = otherWorker.get(ScoringRuleRepository);
    const { lease } = repository;
    const spy = jest.spyOn(repository, 'lease').mockImplementationOnce(async (...args) => {
      await meanwhile();
      return lease.apply(repository, args);
    });
    await otherWorker.get(ScoringRuleRunner).runDue();
    expect(spy).toHaveBeenCalled();
    spy.mockRestore();
  };
  const midnight = (): string => {
    const day = new Date();
    day.setUTCHours(24, 0, 0, 0);
    return day.toISOString();
  };

  it('pauses until the next day (UTC) once its runs reach the limit, and reports the pause', async () => {
    const rule = await ruleWith(2 * COST);
    expect(rule).toMatchObject({
      max_cost_usd_per_day: 2 * COST,
      paused_until: null,
      last_paused_at: null,
    });
    const first = await traces(2);
    await rules.seen(rule, 2);
    expect(await rules.scored(rule)).toEqual(first.sort());
    await traces(2);
    const pausedRule = await paused(rule);
    expect(pausedRule).toMatchObject({
      paused_until: midnight(),
      last_paused_at: expect.any(String),
      last_error: null,
    });
    expect(await rules.seen(rule, 4)).toMatchObject({
      sent_count: 2,
      skipped_count: 2,
      scored_count: 2,
      spent_today_usd: expect.closeTo(2 * COST, 9),
      chosen_count: 4,
      ordered_count: 2,
    });
    expect(judge.requests).toHaveLength(2);
    for (const { max_cost_usd } of await rules.runs(rule)) expect(max_cost_usd).toBeLessThanOrEqual(2 * COST);
  });

  it('counts targets that a greedy run could not afford as skipped, not as sent', async () => {
    const rule = await ruleWith(2 * COST);
    await traces(12);
    await rules.seen(rule, 12);
    await rules.results(rule);
    const { sent_count, skipped_count, scored_count } = await rules.read(rule);
    expect(skipped_count).toBeGreaterThan(0);
    expect([sent_count, sent_count + skipped_count]).toEqual([scored_count, 12]);
  });

  it('continues on the next day, and skips traces that arrived during the pause', async () => {
    const rule = await ruleWith(COST);
    const [first] = await traces(1);
    await rules.seen(rule, 1);
    await rules.results(rule);
    await traces(2);
    await paused(rule);
    await rules.seen(rule, 3);
    await nextDay(rule);
    expect(await rules.read(rule)).toMatchObject({ ...NOTHING_TODAY, paused_until: null });
    const [next] = await traces(1);
    await rules.seen(rule, 4);
    expect(await rules.scored(rule)).toEqual([first, next].sort());
    expect(await rules.read(rule)).toMatchObject({
      sent_count: 1,
      skipped_count: 0,
      paused_until: null,
      last_paused_at: expect.any(String),
    });
  });

  it('limits its next run to the rest of the daily limit', async () => {
    const rule = await ruleWith(2.5 * COST);
    await traces(2);
    await rules.seen(rule, 2);
    await rules.results(rule);
    await traces(5);
    await rules.seen(rule, 7);
    await rules.results(rule);
    const runs = (await rules.runs(rule)).sort((a, b) => (a.score_run_id < b.score_run_id ? -1 : 1));
    const spent = runs.slice(0, -1).reduce((sum, run) => sum + (run.cost_usd as number), 0);
    expect(runs.at(-1)).toMatchObject({ max_cost_usd: expect.closeTo(2.5 * COST - spent, 9) });
    expect(runs.at(-1).failure_code).toBe('budget_exceeded');
    // All of its four concurrent requests may have been in flight.
    expect(judge.requests.length).toBeLessThanOrEqual(2 + 4);
    await traces(1);
    await paused(rule);
  });

  it('continues when its limit is raised, without the arrivals of the pause', async () => {
    const rule = await ruleWith(COST);
    await traces(1);
    await rules.seen(rule, 1);
    await rules.results(rule);
    await traces(2);
    await paused(rule);
    await rules.seen(rule, 3);
    expect(await rules.patch(rule, { max_cost_usd_per_day: null })).toMatchObject({
      max_cost_usd_per_day: null,
      paused_until: null,
    });
    const next = await traces(1);
    await rules.seen(rule, 4);
    expect(await rules.scored(rule)).toEqual(expect.arrayContaining(next));
    expect(await rules.read(rule)).toMatchObject({ sent_count: 2, skipped_count: 2 });
  });

  it('has one run at a time, even if a worker listed it before another worker starts a run', async () => {
    let answer = (): void => undefined;
    const isAnswering = new Promise<void>((resolve) => (answer = resolve));
    judge.reply = () => isAnswering.then(() => says(GOOD));
    const rule = await ruleWith(2 * COST);
    await traces(1);
    const beforeUs = await settled(app);
    await traces(1);
    await settled(app);
    await runStale(async () => {
      const active = await worker.get(ScoringRuleRepository).listActive('', 1_000, 1);
      await worker.get(ScoringRuleRunner).step(
        active.find((one) => one.rule_id === rule.rule_id)!,
        beforeUs,
      );
    });
    const runs = await rules.runs(rule);
    answer();
    expect(runs).toMatchObject([{ total: 1, max_cost_usd: 2 * COST }]);
    await rules.seen(rule, 2);
    await rules.results(rule);
    const [last] = await rules.runs(rule);
    expect(last).toMatchObject({ total: 1, max_cost_usd: expect.closeTo(COST, 9) });
  });

  it('starts its next run as soon as the last one has ended, so that it does not wait for the next pass', async () => {
    const rule = await ruleWith(1_000_000 * COST, 'even');
    await traces(3);
    // The first run has one target, because its cost is not known yet. This is the only pass.
    await rules.runDue();
    await until(async () => (await rules.read(rule)).scored_count === 3);
    expect((await rules.runs(rule)).length).toBeGreaterThan(1);
  });

  it('stays paused when another worker pauses it after this worker has listed it', async () => {
    const rule = await ruleWith(COST);
    await traces(1);
    await rules.seen(rule, 1);
    await rules.results(rule);
    await traces(1);
    await settled(app);
    await runStale(() => rules.runDue());
    expect(await rules.read(rule)).toMatchObject({
      paused_until: midnight(),
      seen_count: 2,
      skipped_count: 1,
    });
    expect(judge.requests).toHaveLength(1);
  });

  describe('and the pace even', () => {
    afterEach(() => {
      for (const one of [worker, otherWorker]) {
        jest.spyOn(one.get(ScoringRuleRepository), 'spending').mockRestore();
      }
    });

    it('has not spent more than a quarter of the day at 06:00, so that the sample is not the morning', async () => {
      const rule = await ruleWith(24 * COST, 'even');
      setDayShare(0.25);
      await traces(20);
      await rules.seen(rule, 20);
      expect(await rules.scored(rule)).toHaveLength(6);
      expect(await rules.read(rule)).toMatchObject({
        pace: 'even',
        sent_count: 6,
        skipped_count: 14,
        scored_count: 6,
        spent_today_usd: expect.closeTo(6 * COST, 9),
        paused_until: null,
      });
      await traces(3);
      expect(await rules.seen(rule, 23)).toMatchObject({
        sent_count: 6,
        skipped_count: 17,
        paused_until: null,
      });
      // the budget that was not spent at noon is available in the evening
      setDayShare(0.75);
      await traces(10);
      await rules.seen(rule, 33);
      expect(await rules.scored(rule)).toHaveLength(16);
      await traces(10);
      expect(await rules.seen(rule, 43)).toMatchObject({ sent_count: 18, skipped_count: 25 });
      await rules.results(rule);
      expect(await rules.read(rule)).toMatchObject({ spent_today_usd: expect.closeTo(18 * COST, 9) });
    });

    it('has half of the budget if it is created at noon, and its sampling rate applies', async () => {
      const rule = await ruleWith(4 * COST, 'even');
      await rules.patch(rule, { sample_rate: 0 });
      setDayShare(0.5);
      await traces(5);
      expect(await rules.seen(rule, 5)).toMatchObject({ ...NOTHING_TODAY, chosen_count: 0 });
      await rules.patch(rule, { sample_rate: 1 });
      await traces(5);
      await rules.seen(rule, 10);
      expect(await rules.scored(rule)).toHaveLength(2);
      expect(await rules.read(rule)).toMatchObject({ sent_count: 2, skipped_count: 3 });
    });

    it('does not take cached answers, or failures without a cost, for targets that cost nothing', async () => {
      const rule = await ruleWith(8 * COST, 'even');
      setDayShare(0.5);
      const output = `repeated ${count++}`;
      let seen = 0;
      const repeat = async (): Promise<void> => {
        await rules.on.trace({ output });
        await settled(app);
        await rules.seen(rule, ++seen);
        await rules.results(rule);
      };
      const meanUsd = async (): Promise<number | null> => {
        const [{ org_id }] = await app.database.query<any>(
          'SELECT org_id FROM scoring_rules WHERE rule_id = $1',
          [rule.rule_id],
        );
        const scope = workspaceScope(org_id, rule.workspace_id, rule.created_by, new Set());
        return (await worker.get(ScoringRuleRepository).spending(scope, rule, 1)).meanUsd;
      };
      expect(await meanUsd()).toBeNull();
      await repeat();
      for (let n = 0; n < 3; n++) await repeat();
      expect(judge.requests).toHaveLength(1);
      expect(await meanUsd()).toBeCloseTo(COST, 9);
      // the runs with a cost are no longer among the latest
      await app.database.query(
        `INSERT INTO score_runs SELECT r.* FROM score_runs o CROSS JOIN generate_series(1, 20) n
         CROSS JOIN LATERAL json_populate_record(o, json_build_object('score_run_id', o.score_run_id || '_' || n)) r
         WHERE o.score_run_id = (SELECT last_score_run_id FROM scoring_rules WHERE rule_id = $1)`,
        [rule.rule_id],
      );
      expect(await meanUsd()).toBeCloseTo(COST, 9);
      await traces(10);
      await rules.seen(rule, seen + 10);
      await rules.results(rule);
      // half of the budget buys four targets, and one was sent before
      expect(judge.requests).toHaveLength(4);
    });

    it('spends nothing at midnight, and pauses once the whole budget is spent', async () => {
      const rule = await ruleWith(2 * COST, 'even');
      setDayShare(0);
      await traces(2);
      expect(await rules.seen(rule, 2)).toMatchObject({
        sent_count: 0,
        skipped_count: 2,
        paused_until: null,
      });
      setDayShare(1);
      await traces(2);
      await rules.seen(rule, 4);
      await rules.results(rule);
      await traces(1);
      expect(await paused(rule)).toMatchObject({ paused_until: midnight() });
      expect(await rules.seen(rule, 5)).toMatchObject({ sent_count: 2, skipped_count: 3 });
    });
  });

  it('counts only the cost of its own runs', async () => {
    const [one, other] = [await ruleWith(COST), await ruleWith(5 * COST)];
    await traces(2);
    await rules.seen(other, 2);
    await rules.results(other);
    expect((await rules.read(other)).paused_until).toBeNull();
    await rules.seen(one, 1);
  });

  it('never pauses when its scorer costs nothing', async () => {
    const rule = await rules.rule({ max_cost_usd_per_day: 0.01 }, await rules.on.scorer(ALWAYS));
    await traces(3);
    await rules.seen(rule, 3);
    expect(await rules.scored(rule)).toHaveLength(3);
  });

  it('is rejected for a judge without a price, and for an invalid limit', async () => {
    const scorer = await judgeScorer({ model: 'of unknown price' });
    const path = `/eval/v1/scorers/${scorer.scorer_id}/rules`;
    const body = { workspace_id: rules.on.workspaceId, max_cost_usd_per_day: 1 };
    const refusal = {
      status: 422,
      body: { code: 'validation_failed', errors: [{ pointer: '/max_cost_usd_per_day' }] },
    };
    expect(await rules.on.evaluator.post(path, body)).toMatchObject(refusal);
    const rule = await rules.rule({}, scorer);
    expect(await rules.on.evaluator.patch(pathOf(rule), { max_cost_usd_per_day: 1 })).toMatchObject(refusal);
    for (const wrong of [0, -1, '1']) {
      expect((await rules.on.evaluator.post(path, { ...body, max_cost_usd_per_day: wrong })).status).toBe(
        400,
      );
    }
  });

  it('waits when its judge no longer has a price, and reports the reason', async () => {
    const scorer = await judgeScorer();
    const rule = await rules.rule({ max_cost_usd_per_day: 1 }, scorer);
    await rules.on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, {
      definition: { ...scorer.definition, model: 'of unknown price' },
    });
    await traces(1);
    let lastError: string | null = null;
    await until(async () => {
      await rules.runDue();
      lastError = (await rules.read(rule)).last_error as string | null;
      return lastError !== null;
    });
    expect(lastError).toContain('has no price');
    expect(judge.requests).toEqual([]);
  });
});
