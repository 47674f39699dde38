import type { OtlpSpan } from '#otlp';
import { agree, createTestApp, newSpanId, newTraceId, type TestApp, TestJudge } from '#testing';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';
import { ServiceProcess, TraceEndpoint, tracedTo } from '../e2e/platform/tracing.fixture';
import { describeOnBothQueues } from './backends.fixture';
import { JUDGE } from './gate.fixture';
import { CHOICES } from './judge.fixture';

const SECRET = 'what-nobody-else-may-read';
/** The members of a scorer that asks a classifier. */
const CLASSIFIED = {
  scorer_kind: 'llm_judge',
  definition: { backend: 'classifier', prompt: null, output: CHOICES },
};
const ALWAYS = script('function score() { return 1; }');

describeOnBothQueues('the trace of a job', (env) => {
  let app: TestApp;
  let on: ScoringFixture;
  let endpoint: TraceEndpoint;
  let judge: TestJudge;
  let api: ServiceProcess;
  let worker: ServiceProcess;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    const address = `${judge.env.CLASSIFIER_BASE_URL}?key=${SECRET}`;
    app = await createTestApp({ env: { ...env, ...judge.env, CLASSIFIER_BASE_URL: address } });
    on = await ScoringFixture.create(app);
    endpoint = await TraceEndpoint.listen();
    [api, worker] = await Promise.all([
      ServiceProcess.start('main', app, tracedTo(endpoint)),
      ServiceProcess.start('worker', app, tracedTo(endpoint)),
    ]);
  });
  afterAll(async () => {
    await Promise.all([api.kill(), worker.kill()]);
    await endpoint.close();
    await judge.close();
    await app.close();
  });

  /** Requests the scoring of a trace, within another trace. Returns the response body. */
  async function ask(traceId: string, flags: string, scorer: object, body: object = {}): Promise<any> {
    const { scorer_id } = await on.scorer(scorer);
    const caller = api.caller(await on.organization.token('evaluator'), on.workspaceId);
    const answer = await caller.post(
      `/eval/v1/scorers/${scorer_id}/score`,
      { trace_ids: [await on.trace({ output: traceId })], ...body },
      { traceparent: `00-${traceId}-${newSpanId()}-${flags}`, baggage: `a=${SECRET}` },
    );
    return answer.body;
  }

  /** Scores a trace in a job, and waits for the run. */
  async function scoreInJob(traceId: string, flags: string, scorer: object = ALWAYS): Promise<void> {
    const run = await ask(traceId, flags, scorer);
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
  }

  /** Waits for a span of a trace. */
  async function spanOf(id: string, matches: (span: OtlpSpan) => boolean): Promise<OtlpSpan> {
    return (await endpoint.received((span) => span.traceId === id && matches(span)))[0]!;
  }

  it('continues the trace of its request in another process', async () => {
    const traceId = newTraceId();
    await scoreInJob(traceId, '01');
    const job = await spanOf(traceId, ({ kind }) => kind === 'consumer');
    const request = await spanOf(traceId, ({ kind }) => kind === 'server');
    expect(job).toMatchObject({
      name: 'process score-run',
      parentSpanId: expect.any(String),
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'score-run',
        'messaging.message.id': expect.any(String),
      },
      resource: { attributes: { 'registry.role': 'worker' } },
    });
    expect(job.parentSpanId).toBe(request.spanId);
    const work = endpoint.spans.filter(({ parentSpanId }) => parentSpanId === job.spanId);
    expect(work.map(({ kind }) => kind)).toContain('client');
  });

  it('is not sampled when the client’s trace is not', async () => {
    const traceId = newTraceId();
    await scoreInJob(traceId, '00');
    const sampledTrace = newTraceId();
    await scoreInJob(sampledTrace, '01');
    await spanOf(sampledTrace, ({ kind }) => kind === 'consumer');
    expect(endpoint.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  it('contains the requests to judges, without the query of their URLs', async () => {
    const traceId = newTraceId();
    await scoreInJob(traceId, '01', CLASSIFIED);
    const job = await spanOf(traceId, ({ kind }) => kind === 'consumer');
    const asking = await spanOf(traceId, ({ attributes }) => 'url.full' in attributes);
    expect(asking).toMatchObject({
      name: 'POST',
      kind: 'client',
      parentSpanId: job.spanId,
      attributes: { 'url.full': judge.env.CLASSIFIER_BASE_URL, 'http.response.status_code': 200 },
    });
    expect(judge.requests.at(-1)!.headers.traceparent).toBe(`00-${traceId}-${asking.spanId}-01`);
    const sent = endpoint.exports.map(({ body }) => body.toString('latin1')).join('\n');
    expect(sent.includes(SECRET)).toBe(false);
  });

  it('is the only header of the client that judges get', async () => {
    const traceId = newTraceId();
    const { results } = await ask(traceId, '01', CLASSIFIED, { mode: 'test' });
    expect(results).toHaveLength(1);
    const { headers } = judge.requests.at(-1)!;
    expect(headers.traceparent).toMatch(`00-${traceId}-`);
    expect(headers).not.toHaveProperty('baggage');
  });

  it('has no error when the worker stops and hands the job back', async () => {
    const traceId = newTraceId();
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const requested = new Promise<void>((resolve) => {
      judge.reply = async (question) => {
        resolve();
        await released;
        return agree(question);
      };
    });
    // More targets than are scored before a worker notices that it must stop.
    const targets = await Promise.all(Array.from({ length: 50 }, (_, n) => on.trace({ output: n })));
    const run = await ask(traceId, '01', JUDGE, { trace_ids: targets, concurrency: 1 });
    await requested;
    const stopped = worker.stop();
    await worker.line(({ msg }) => msg === 'stopping');
    release();
    expect(await stopped).toBe(0);
    expect(await on.run(run.score_run_id)).toMatchObject({ run_status: 'running' });
    const job = await spanOf(traceId, ({ kind }) => kind === 'consumer');
    expect(job.status.code).toBe('unset');
    expect(job.attributes).not.toHaveProperty('error.type');
  });
});
