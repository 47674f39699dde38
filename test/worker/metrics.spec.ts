import { type DynamicModule, Injectable, type INestApplicationContext, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { UnrecoverableError } from 'bullmq';
import { ConfigModule, readEnvironment } from '#platform/config';
import { Database, DatabaseModule } from '#platform/db';
import {
  defineJob,
  Handles,
  JobHandedBack,
  JobProcessor,
  JobQueue,
  JobsModule,
  JobsWorkerModule,
} from '#platform/jobs';
import { JsonLogger, setLogLevel } from '#platform/logging';
import { MetricsServerModule } from '#platform/metrics-server';
import { ownApp, createTestDatabase, createTestWorker, TcpProxy, type TestDatabase, until } from '#testing';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { describeOnBothQueues } from './backends.fixture';
import { scrape, seriesOf } from './metrics.fixture';
import { RulesFixture } from './scoring-rules.fixture';

const GREET = defineJob<{ person_id: string }>({ name: 'greet', subject: 'person_id' });

/** Decides the outcome of each job, by the person in it. */
@Injectable()
class Manners {
  held: (() => void)[] = [];
  private hasReturned = false;

  async greet(personId: string): Promise<void> {
    if (personId === 'held') await new Promise<void>((resolve) => this.held.push(resolve));
    if (personId === 'failing') throw new Error('later');
    if (personId === 'hopeless') throw new UnrecoverableError('never');
    if (personId !== 'returned' || this.hasReturned) return;
    this.hasReturned = true;
    throw new JobHandedBack();
  }
}

@Handles(GREET)
class GreetProcessor extends JobProcessor<{ person_id: string }> {
  readonly concurrency = 4;
  constructor(private readonly manners: Manners) {
    super();
  }
  protected handle({ person_id }: { person_id: string }): Promise<void> {
    return this.manners.greet(person_id);
  }
}

@Module({})
class Root {}

describeOnBothQueues('jobs as metrics', (env) => {
  let database: TestDatabase;
  let contexts: INestApplicationContext[];

  beforeEach(async () => {
    database = await createTestDatabase();
    setLogLevel('silent');
    contexts = [];
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    await database.drop();
  });

  const boot = async (module: Partial<DynamicModule>, vars: Record<string, string> = {}) => {
    const environment = readEnvironment({
      DATABASE_URL: database.url,
      HOST: '127.0.0.1',
      METRICS_PORT: '0',
      ...env,
      // Each test has its own queues.
      ...(env.REDIS_PREFIX && { REDIS_PREFIX: `{${database.url.split('/').at(-1)}}` }),
      ...vars,
    });
    const root = {
      ...module,
      module: Root,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        JobsModule.forRoot(),
        MetricsServerModule,
        JobsModule.register(GREET),
        ...(module.imports ?? []),
      ],
    };
    const context = await Test.createTestingModule({ imports: [root] })
      .setLogger(new JsonLogger())
      .compile();
    contexts.push(context);
    return context.init();
  };
  const producer = () => boot({});
  const order = (from: INestApplicationContext, ...ids: string[]) =>
    from.get(Database).transaction((tx) =>
      from.get(JobQueue).enqueue(
        tx,
        GREET,
        ids.map((person_id) => ({ person_id })),
      ),
    );

  const depthNow = async (from: INestApplicationContext) => {
    const scraped = await freshScrape(from);
    const jobs = seriesOf(scraped, 'registry_jobs');
    const states = ['waiting', 'active', 'delayed', 'failed'].map(
      (state) => [state, jobs[`kind=greet,state=${state}`]] as const,
    );
    return {
      ...Object.fromEntries(states),
      age: scraped.values.get('registry_jobs_oldest_waiting_age_seconds{kind="greet"}'),
    };
  };
  const until = async (from: INestApplicationContext, expected: object) => {
    for (;;) {
      const depth = await depthNow(from);
      if (Object.entries(expected).every(([name, value]) => depth[name as keyof typeof depth] === value)) {
        return depth;
      }
    }
  };

  it('count waiting jobs and their age, without a worker', async () => {
    const from = await producer();
    expect(await depthNow(from)).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0, age: 0 });
    await order(from, 'a');
    await until(from, { waiting: 1 });
    await order(from, 'b', 'c');
    const { age } = await until(from, { waiting: 3, active: 0, delayed: 0, failed: 0 });
    expect(age).toBeGreaterThan(0);
    const later = await depthNow(from);
    expect(later.age).toBeGreaterThan(age!);
  });

  it('count active, delayed, failed and completed jobs', async () => {
    const from = await producer();
    const worker = await boot({ imports: [JobsWorkerModule], providers: [Manners, GreetProcessor] });
    const began = await scrape(worker);
    expect(seriesOf(began, 'registry_jobs_handled_total')).toEqual({
      'kind=greet,outcome=completed': 0,
      'kind=greet,outcome=failed': 0,
      'kind=greet,outcome=handed_back': 0,
    });
    await order(from, 'held', 'failing', 'hopeless', 'returned', 'well');
    await until(from, { active: 1, waiting: 0, delayed: 1, failed: 1, age: 0 });
    for (const finish of worker.get(Manners).held) finish();
    await until(from, { active: 0, waiting: 0 });
    const handled = await scrape(worker);
    const outcomes = seriesOf(handled, 'registry_jobs_handled_total');
    expect(outcomes).toMatchObject({
      'kind=greet,outcome=completed': 3,
      'kind=greet,outcome=handed_back': 1,
    });
    // One of the jobs may have been retried meanwhile.
    expect(outcomes['kind=greet,outcome=failed']).toBeGreaterThanOrEqual(2);
    const sum = Object.values(outcomes).reduce((total, one) => total + one, 0);
    expect(handled.values.get('registry_job_duration_seconds_count{kind="greet"}')).toBe(sum);
    // A process that only enqueues jobs has handled none.
    expect(seriesOf(await scrape(from), 'registry_jobs_handled_total')).toEqual({});
  });

  it('are omitted while the queue is unavailable', async () => {
    const target = env.REDIS_URL ?? database.url;
    const proxy = await TcpProxy.to(target);
    const process_ = await boot({}, { [env.REDIS_URL ? 'REDIS_URL' : 'DATABASE_URL']: proxy.url });
    proxy.cut();
    if (env.REDIS_URL) await order(process_, 'patient');
    const app = env.REDIS_URL ? await boot({}, { REDIS_URL: proxy.url }) : process_;
    const [away, ofApp] = await Promise.all([scrape(process_), scrape(app)]);
    expect(away.status).toBe(200);
    expect(seriesOf(away, 'registry_jobs')).toEqual({});
    expect(seriesOf(away, 'registry_jobs_oldest_waiting_age_seconds')).toEqual({});
    expect(seriesOf(away, 'registry_metrics_source_up')).toMatchObject({ 'source=jobs': 0 });
    expect(seriesOf(away, 'registry_metrics_source_failures_total')).toMatchObject({ 'source=jobs': 1 });
    expect(away.values.has('process_cpu_user_seconds_total')).toBe(true);
    if (env.REDIS_URL) expect(ofApp.values.get('registry_job_outbox')).toBe(1);
    proxy.restore();
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    await proxy.close();
  });
});

describe('scoring as metrics', () => {
  const app = ownApp({ env: { METRICS_PORT: '0' } });

  it('count open runs of all tenants, and targets by outcome', async () => {
    const on = await ScoringFixture.create(app);
    const experiment = await on.experiment();
    await on.results(experiment, [{ output: 'good' }, { output: 'unsure' }, { output: 'bad' }]);
    const source = `function score({ output }) {
      if (output === 'bad') throw new Error('no');
      return output === 'good' ? 1 : null;
    }`;
    const scorer = await on.scorer({ definition: { language: 'javascript', source } });
    const body = { experiment_id: experiment.experiment_id };
    const { body: run } = await on.score(scorer, body);
    const other = await ScoringFixture.create(app);
    await other.score(await other.scorer(), { trace_ids: [await other.trace()] });

    const waiting = await scrape(app.app);
    expect(seriesOf(waiting, 'registry_score_runs')).toEqual({ 'status=queued': 2, 'status=running': 0 });
    expect(waiting.values.get('registry_score_runs_oldest_queued_age_seconds')).toBeGreaterThan(0);

    const worker = await createTestWorker(app);
    try {
      await on.finished(run.score_run_id);
      await other.finished((await other.evaluator.get('/eval/v1/score-runs')).body.items[0].score_run_id);
      const handled = async () =>
        (await scrape(worker)).values.get(
          'registry_jobs_handled_total{kind="score-run",outcome="completed"}',
        );
      await until(async () => (await handled()) === 2);
      const done = await scrape(worker);
      expect(seriesOf(done, 'registry_scored_targets_total')).toMatchObject({
        'scorer_kind=code,outcome=abstained': 1,
        'scorer_kind=code,outcome=failed': 1,
      });
      expect(done.values.get('registry_scoring_duration_seconds_count{scorer_kind="code"}')).toBe(4);
      expect(seriesOf(done, 'registry_score_runs')).toEqual({ 'status=queued': 0, 'status=running': 0 });
      expect(done.values.get('registry_score_runs_oldest_queued_age_seconds')).toBe(0);
      expect(seriesOf(done, 'registry_jobs_handled_total')).toMatchObject({
        'kind=score-run,outcome=completed': 2,
      });
    } finally {
      await worker.close();
    }
  });

  it('show that no worker runs and that rules fall behind, until a worker runs', async () => {
    const rules = await RulesFixture.create(app, () => []);
    const others = await RulesFixture.create(app, () => []);
    const [rule, disabled, archived, ofSuspended] = [
      await rules.rule(),
      await rules.rule({ enabled: false }),
      await rules.rule(),
      await others.rule(),
    ];
    await rules.on.evaluator.post(`/eval/v1/scorers/${archived.scorer_id}/archive`);
    await app.database.query(`UPDATE organizations SET status = 'suspended' WHERE org_id = $1`, [
      others.on.organization.orgId,
    ]);
    await app.database.query('UPDATE scoring_rules SET last_error = $2 WHERE rule_id = $1', [
      rule.rule_id,
      'blocked',
    ]);
    // the quiet time of all rules is over
    await app.database.query('UPDATE scoring_rules SET seen_us = seen_us - 7200000000');
    await rules.traces(2);
    await app.database.query(`UPDATE traces SET arrived_at = arrived_at - interval '1 hour'`);
    const behind = await freshScrape(app.app);
    // those of the other rules do not count
    expect(behind.values.get('registry_rule_backlog')).toBe(2);
    expect(behind.values.get('registry_rule_lag_seconds')).toBeGreaterThan(3_590);
    expect(behind.values.get('registry_rule_lag_seconds')).toBeLessThan(7_200);
    expect(behind.values.get('registry_workers_alive')).toBe(0);
    expect([disabled.enabled, ofSuspended.enabled]).toEqual([false, true]);

    const worker = await createTestWorker(app);
    try {
      await until(async () => (await rules.read(rule)).scored_count === 2);
      const done = await freshScrape(worker);
      expect(done.values.get('registry_rule_backlog')).toBe(0);
      expect(done.values.get('registry_rule_lag_seconds')).toBe(0);
      expect(done.values.get('registry_workers_alive')).toBe(1);
    } finally {
      await worker.close();
    }
  });
});

/** How far the clock of fresh scrapes is ahead, in ms. */
let aheadMs = 0;

/** Scrapes a process as if a minute had passed since the last scrape, so that its cached values are old. */
async function freshScrape(from: Parameters<typeof scrape>[0]): ReturnType<typeof scrape> {
  aheadMs += 60_000;
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  try {
    return await scrape(from);
  } finally {
    clock.mockRestore();
  }
}
