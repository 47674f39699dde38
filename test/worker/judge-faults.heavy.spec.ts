import { setTimeout as sleep } from 'node:timers/promises';
import {
  createTestApp,
  createTestWorker,
  type JudgeReply,
  type TestApp,
  TestJudge,
  type TestJudgeRequest,
} from '#testing';
import { JUDGE } from './gate.fixture';
import { expectAccounted, inputs, JudgeFixture, says } from './judge.fixture';

const TRUE = says({ reasoning: 'r', value: true });

/** Returns the number of the input that a judge was asked about. */
const inputOf = ({ json }: TestJudgeRequest): number => Number(/<(\d+)>/.exec(json.messages[1].content)![1]);

/** How long the judge refuses every request, in ms. */
const OUTAGE_MS = 3_000;
/** Number of targets of the run with every fault. A multiple of 10. */
const TARGETS = 40;

describe('a judge', () => {
  let judge: TestJudge;
  let app: TestApp;
  const workers: { close(): Promise<unknown> }[] = [];
  let fixture: JudgeFixture;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    app = await createTestApp({
      env: { ...judge.env, JUDGE_TIMEOUT_MS: '6000', JUDGE_TARGET_SECONDS: '120' },
    });
    for (let count = 0; count < 2; count++) workers.push(await createTestWorker(app));
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await app.close();
    await judge.close();
  });
  beforeEach(async () => {
    judge.reset();
    await app.database.query('DELETE FROM model_limits');
    fixture = await JudgeFixture.create(app);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Makes back-off take a twentieth of its longest time. */
  const shortenBackOff = () => jest.spyOn(Math, 'random').mockReturnValue(0.05);

  const scored = async (count: number, definition: object = {}, body: object = {}) => {
    const scorer = await fixture.scorer({ ...JUDGE.definition, ...definition });
    const { run, results } = await fixture.completeRun(
      scorer,
      await fixture.experiment(...inputs(count)),
      body,
    );
    expectAccounted(run, results);
    return { run, results };
  };

  it.each<[string, JudgeReply]>([
    ['closing the connection during its answer', 'closes'],
    ['an answer other than JSON', { status: 200, body: '<html>Bad gateway</html>' }],
    ['an empty answer', { status: 200, body: '' }],
    ['JSON other than a chat completion', { status: 200, body: '{"hello":"world"}' }],
    ['500', { status: 500 }],
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '0' } }],
    ['429', { status: 429 }],
  ])('gets another request after %s', async (_, failure) => {
    shortenBackOff();
    judge.reply = ({ repeat }) => (repeat === 0 ? failure : TRUE);
    const { run } = await scored(3);
    expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 3 });
    expect(judge.requests).toHaveLength(6);
  });

  it.each<[string, JudgeReply, RegExp]>([
    [
      'always closes the connection',
      'closes',
      /^The judge closed the connection .*\. Gave up after 6 attempts/,
    ],
    [
      'never returns JSON',
      { status: 200, body: 'no' },
      /^The judge did not return JSON\. Gave up after 6 attempts/,
    ],
    ['always returns 502', { status: 502 }, /^The judge returned 502: status 502\. Gave up after 6 attempts/],
  ])('fails the target after six attempts if it %s', async (_, failure, error) => {
    shortenBackOff();
    judge.reply = () => failure;
    const { run, results } = await scored(1);
    expect(run).toMatchObject({ run_status: 'failed', failure_code: 'all_targets_failed' });
    expect(results[0].error).toMatch(error);
  });

  it('is cut off after 1 MiB of an endless answer, and not asked again', async () => {
    judge.reply = () => 'floods';
    const { results } = await scored(2);
    expect(results.map((one) => one.error)).toEqual(Array(2).fill("The judge's response exceeds 1 MiB."));
    expect(judge.requests).toHaveLength(2);
  });

  it('fails the targets if it is unreachable', async () => {
    const env = { ...judge.env, JUDGE_BASE_URL: 'http://127.0.0.1:1/v1', JUDGE_TARGET_SECONDS: '2' };
    const other = await createTestApp({ env });
    try {
      const fixture = await JudgeFixture.create(other);
      expect((await fixture.testResult({})).error).toMatch(
        /^The judge (cannot be reached|gave no usable answer)/,
      );
    } finally {
      await other.close();
    }
  });

  it('gets no request from any worker before its Retry-After is over', async () => {
    let [isShut, tooEarly] = [false, 0];
    judge.reply = () => {
      if (isShut) tooEarly += 1;
      if (judge.requests.length > 1) return TRUE;
      isShut = true;
      setTimeout(() => (isShut = false), 1_990);
      return { status: 429, headers: { 'retry-after': '2' } };
    };
    const run = scored(1);
    while (judge.requests.length === 0) await sleep(5);
    // Both workers read the shared limit again within a second.
    await sleep(1_200);
    await Promise.all([run, scored(4), scored(4)]);
    expect(tooEarly).toBe(0);
  }, 180_000); // on a slow machine, requests reach JUDGE_TIMEOUT_MS and are repeated

  it('fails the targets at once when Retry-After is longer than the time left', async () => {
    judge.reply = () => ({ status: 429, headers: { 'retry-after': '3600' } });
    const { results } = await scored(1);
    expect(results[0].error).toBe('The judge returned 429: status 429. There was no time left for a retry.');
  });

  it('gets about as many concurrent requests from all workers together as it accepts', async () => {
    let inFlight = 0;
    let refused = 0;
    judge.reply = async () => {
      if (inFlight >= 4) {
        refused += 1;
        return { status: 429 };
      }
      inFlight += 1;
      await sleep(30);
      inFlight -= 1;
      return TRUE;
    };
    const runs = await Promise.all([
      scored(60, {}, { concurrency: 32 }),
      scored(60, {}, { concurrency: 32 }),
    ]);
    for (const { run } of runs) expect(run.run_status).toBe('succeeded');
    const [{ state }] = await app.database.query<any>('SELECT state FROM model_limits');
    expect(state.maxInFlight).toBeLessThan(16);
    // With the shared limit, about 25 requests are refused until it has adapted. With back-off alone, about 130.
    expect(refused).toBeLessThan(80);
  }, 120_000);

  it('does not use up the time of waiting targets if it accepts one request at a time', async () => {
    const slow = await createTestApp({ env: { ...judge.env, JUDGE_TARGET_SECONDS: '4' } });
    const worker = await createTestWorker(slow);
    let inFlight = 0;
    judge.reply = async () => {
      if (inFlight > 0) return { status: 429 };
      inFlight += 1;
      await sleep(80);
      inFlight -= 1;
      return TRUE;
    };
    try {
      const fixture = await JudgeFixture.create(slow);
      const scorer = await fixture.scorer({ ...JUDGE.definition, samples: 3 });
      const experiment = await fixture.experiment(...inputs(32));
      const { run, results } = await fixture.completeRun(scorer, experiment, { concurrency: 32 });
      expectAccounted(run, results);
      // All targets together need eight seconds, so half would fail if waiting counted. Back-off after a 429 counts.
      expect(run.failed_count).toBeLessThan(8);
    } finally {
      await worker.close();
      await slow.close();
    }
  }, 120_000);

  it('gets no second request after 429 insufficient_quota', async () => {
    const body = '{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}';
    judge.reply = () => ({ status: 429, body });
    const { results } = await scored(1);
    expect(results[0].error).toBe('The judge refused the request (429): You exceeded your quota');
    expect(judge.requests).toHaveLength(1);
  });

  it('leaves every target with a score or an error, even if it fails in every way in turn', async () => {
    shortenBackOff();
    const begun = performance.now();
    const ways: ((request: TestJudgeRequest) => JudgeReply)[] = [
      () => TRUE,
      ({ repeat }) => (repeat === 0 ? 'hangs' : TRUE),
      ({ repeat }) => (repeat === 0 ? 'closes' : TRUE),
      ({ repeat }) => (repeat < 2 ? { status: 200, body: 'Bad gateway' } : TRUE),
      () => 'floods',
      () => says({ reasoning: 'r', value: 'perhaps' }),
      ({ json }) => (json.messages.length === 2 ? says({ value: 'perhaps' }) : TRUE),
      ({ repeat }) => (repeat === 0 ? { status: 500 } : TRUE),
      () => ({ status: 400, body: '{"error":{"message":"not this one"}}' }),
      ({ repeat }) => (repeat === 0 ? { status: 429, headers: { 'retry-after': '1' } } : TRUE),
    ];
    judge.reply = (request) => {
      if (performance.now() - begun < OUTAGE_MS) return { status: 429, headers: { 'retry-after': '1' } };
      return ways[inputOf(request) % ways.length]!(request);
    };
    const { run, results } = await scored(TARGETS, {}, { concurrency: 16 });
    const each = TARGETS / ways.length;
    expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 7 * each, failed_count: 3 * each });
    const errors = results.flatMap(({ error }) => error ?? []);
    const count = (pattern: RegExp): number => errors.filter((error) => pattern.test(error)).length;
    expect([count(/exceeds 1 MiB/), count(/answer is invalid/), count(/not this one/)]).toEqual([
      each,
      each,
      each,
    ]);
  }, 300_000);

  it('fails a target whose time is over, without a score', async () => {
    const other = await createTestApp({ env: { ...judge.env, JUDGE_TARGET_SECONDS: '2' } });
    judge.reply = ({ repeat }) => (repeat % 2 === 0 ? 'hangs' : { status: 429 });
    try {
      const fixture = await JudgeFixture.create(other);
      const item = await fixture.testResult({});
      expect(item.error).toMatch(/within 2 s|no more time/);
      expect(item).not.toHaveProperty('score');
    } finally {
      await other.close();
    }
  });

  it('does not block other work of a worker that waits for it', async () => {
    const busy = await createTestApp({ env: judge.env });
    const small = await createTestWorker(busy, { WORKER_CONCURRENCY: '2' });
    try {
      const own = await JudgeFixture.create(busy);
      judge.reply = () => ({ status: 429, headers: { 'retry-after': '60' } });
      const scorer = await own.scorer(JUDGE.definition);
      const { experiment_id } = await own.experiment(...inputs(8));
      const { body: waiting } = await own.scoring.score(scorer, { experiment_id, concurrency: 8 });
      while (judge.requests.length === 0) await sleep(5);
      const code = await own.scoring.scorer({
        definition: { language: 'javascript', source: 'function score() { return 1; }' },
      });
      const { run } = await own.completeRun(code, { experiment_id });
      expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 8 });
      expect((await own.scoring.run(waiting.score_run_id)).run_status).toBe('running');
      // When the worker stops, it hands back the waiting run at once.
      await small.close();
      const left = await own.scoring.run(waiting.score_run_id);
      expect(left).toMatchObject({ run_status: 'running', completed_count: 0, failed_count: 0 });
    } finally {
      await small.close();
      await busy.close();
    }
  });
});
