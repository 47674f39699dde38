import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import { type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const newTraceId = (): string => randomBytes(16).toString('hex');

export interface TraceOptions {
  traceId?: string;
  sessionId?: string;
  /** Milliseconds since 1970. */
  startedAt?: number;
  input?: unknown;
  output?: unknown;
  spans?: number;
}

/** A script that scores 1 if the output equals the expected value. */
export const EXACT = {
  language: 'javascript',
  source: 'function score({ output, expected }) { return output === expected; }',
};

/** A workspace for testing scoring over HTTP. */
export class ScoringFixture {
  private constructor(
    private readonly app: TestApp,
    readonly organization: TestOrganization,
    readonly evaluator: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<ScoringFixture> {
    const organization = await newOrganization(app);
    return new ScoringFixture(app, organization, await organization.as('evaluator'));
  }

  get workspaceId(): string {
    return this.organization.workspaceId;
  }

  async scorer(members: object = {}): Promise<any> {
    return this.post('/eval/v1/scorers', {
      workspace_id: this.workspaceId,
      name: newId('scr'),
      scorer_kind: 'code',
      definition: EXACT,
      ...members,
    });
  }

  async experiment(members: object = {}): Promise<any> {
    return this.post('/eval/v1/experiments', { workspace_id: this.workspaceId, name: 'eval', ...members });
  }

  /** Creates a result of an experiment, with a new trace id by default. */
  async result(experiment: { experiment_id: string }, members: object = {}): Promise<any> {
    return this.post(`/eval/v1/experiments/${experiment.experiment_id}/results`, {
      workspace_id: this.workspaceId,
      case_id: newId('item'),
      trace_id: newTraceId(),
      ...members,
    });
  }

  /** Creates results, each with a new trace id by default. */
  async results(experiment: { experiment_id: string }, items: object[]): Promise<any[]> {
    const answer = await this.evaluator.post(
      `/eval/v1/experiments/${experiment.experiment_id}/results/bulk`,
      {
        workspace_id: this.workspaceId,
        items: items.map((item) => ({ case_id: newId('item'), trace_id: newTraceId(), ...item })),
      },
    );
    return answer.body.items.map((item: any) => item.result);
  }

  /** Sends a trace as an exporter would. Returns the trace id. */
  async trace(options: TraceOptions = {}): Promise<string> {
    const [traceId] = await this.traces([options]);
    return traceId!;
  }

  /** Sends traces in one request. Returns their ids. */
  async traces(all: TraceOptions[]): Promise<string[]> {
    const spans = all.map((options) => this.spansOf(options));
    const body = { resourceSpans: [{ scopeSpans: [{ spans: spans.flat() }] }] };
    const answer = await this.evaluator.post('/telemetry/v1/traces', body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return spans.map(([root]) => root!.traceId);
  }

  private spansOf(options: TraceOptions) {
    const { traceId = newTraceId(), startedAt = Date.now(), sessionId, spans = 1 } = options;
    const nanos = (ms: number): string => `${BigInt(ms) * 1_000_000n}`;
    const attributes = [
      attribute('session.id', sessionId),
      attribute('input.value', text(options.input)),
      attribute('output.value', text(options.output)),
    ].flat();
    const root = {
      traceId,
      spanId: randomBytes(8).toString('hex'),
      name: 'root',
      startTimeUnixNano: nanos(startedAt),
      endTimeUnixNano: nanos(startedAt + 100),
      attributes,
    };
    const others = Array.from({ length: spans - 1 }, (_, index) => ({
      ...root,
      spanId: randomBytes(8).toString('hex'),
      parentSpanId: root.spanId,
      name: `step ${index + 1}`,
      startTimeUnixNano: nanos(startedAt + 1 + index),
      attributes: [],
    }));
    return [root, ...others];
  }

  score(scorer: { scorer_id: string }, body: unknown, caller = this.evaluator) {
    return caller.post(`/eval/v1/scorers/${scorer.scorer_id}/score`, body);
  }

  /** Requests a batch. */
  batch(
    scorer: { scorer_id: string },
    body: unknown,
    caller = this.evaluator,
    headers?: Record<string, string>,
  ) {
    return caller.post(`/eval/v1/scorers/${scorer.scorer_id}/batches`, body, headers);
  }

  async readBatch({ score_batch_id }: { score_batch_id: string }): Promise<any> {
    return (await this.evaluator.get(`/eval/v1/score-batches/${score_batch_id}`)).body;
  }

  /** Waits until a batch has ended. */
  async finishedBatch(batch: { score_batch_id: string }): Promise<any> {
    await this.untilEnded(
      `SELECT batch_status IN ('succeeded', 'failed') AS ended FROM score_batches WHERE score_batch_id = $1`,
      batch.score_batch_id,
    );
    return this.readBatch(batch);
  }

  /** Returns the runs of a batch, oldest first. */
  async runsOfBatch({ score_batch_id }: { score_batch_id: string }): Promise<any[]> {
    const path = `/eval/v1/score-runs?score_batch_id=${score_batch_id}&sort=created_at&limit=500`;
    return (await this.evaluator.get(path)).body.items;
  }

  /** Starts a run of a new scorer over the results of a new experiment, and does not wait for it. */
  async runOver(items: object[], members: object = {}, body: object = {}): Promise<any> {
    const experiment = await this.experiment();
    const results = await this.results(experiment, items);
    const scorer = await this.scorer(members);
    const { experiment_id } = experiment;
    const { body: run } = await this.score(scorer, { experiment_id, ...body });
    return { experiment, results, scorer, run };
  }

  /** Returns the results of an experiment, in the order of their creation. */
  async resultsOfExperiment({ experiment_id }: { experiment_id: string }): Promise<any[]> {
    const path = `/eval/v1/experiments/${experiment_id}/results?sort=created_at`;
    return (await this.evaluator.get(path)).body.items;
  }

  finalize({ experiment_id }: { experiment_id: string }) {
    return this.evaluator.patch(`/eval/v1/experiments/${experiment_id}`, {
      experiment_status: 'completed',
    });
  }

  async run(id: string): Promise<any> {
    return (await this.evaluator.get(`/eval/v1/score-runs/${id}`)).body;
  }

  /** Waits until a run has ended. */
  async finished(id: string): Promise<any> {
    await this.untilEnded(
      `SELECT run_status IN ('succeeded', 'failed') AS ended FROM score_runs WHERE score_run_id = $1`,
      id,
    );
    return this.run(id);
  }

  async resultsOf(runId: string): Promise<any[]> {
    return (await this.evaluator.get(`/eval/v1/score-runs/${runId}/results?limit=500`)).body.items;
  }

  /** Waits with a statement, because repeated requests would take a good part of a processor. */
  private async untilEnded(statement: string, id: string): Promise<void> {
    for (;;) {
      const [row] = await this.app.database.query<{ ended: boolean }>(statement, [id]);
      if (row!.ended) return;
      await delay(10);
    }
  }

  private async post(path: string, body: object): Promise<any> {
    const answer = await this.evaluator.post(path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

const text = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value);

const attribute = (key: string, value: string | undefined) =>
  value === undefined ? [] : [{ key, value: { stringValue: value } }];

/** Returns the members of a scorer with this script. */
export const script = (source: string) => ({ definition: { language: 'javascript', source } });
