import { type ApiClient, jsonExport, newSpan, newTraceId, until } from '#testing';

const SCORER = { language: 'javascript', source: 'function score({ output }) { return output === "yes"; }' };

/** Two APIs: what one writes is read through the other. */
export interface Pair {
  writer: ApiClient;
  reader: ApiClient;
}

/** Clients that use every kind of data, and count what does not behave as documented. */
export class MixedLoad {
  /** Requests so far. */
  requests = 0;
  /** Requests that failed, and data that was not visible. */
  readonly failures: string[] = [];
  private isStopping = false;
  private readonly clients: Promise<void>[] = [];

  constructor(private readonly workspaceId: string) {}

  /**
   * Starts a client. It runs one round after the other: datasets, records, traces, scores, experiments and scoring runs, each
   * written through one API and read through the other.
   *
   * @param pair returns the APIs of the next round
   */
  add(pair: () => Pair): void {
    this.clients.push(this.runRounds(pair));
  }

  /** Waits until clients have sent this many more requests. Throws if one failed. */
  async proceed(requests: number): Promise<void> {
    const end = this.requests + requests;
    await until(() => this.requests >= end || this.failures.length > 0);
    if (this.failures.length > 0) throw new Error(this.failures.join('\n'));
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.clients);
  }

  private async runRounds(pair: () => Pair): Promise<void> {
    for (let round = 0; !this.isStopping; round++) {
      try {
        await this.runRound(pair(), round);
      } catch (error) {
        this.failures.push((error as Error).message);
        return;
      }
    }
  }

  private async runRound({ writer, reader }: Pair, round: number): Promise<void> {
    const name = `dataset ${newTraceId()}`;
    const dataset = await this.post(writer, 201, '/eval/v1/datasets', { name });
    const datasetPath = `/eval/v1/datasets/${dataset.dataset_id}`;
    const record = await this.post(writer, 201, `${datasetPath}/records`, { input: round });
    await this.reads(
      reader,
      `${datasetPath}/records`,
      (body) => body.items[0].record_id === record.record_id,
    );
    await this.send(reader, 'PATCH', 200, datasetPath, { description: 'changed' });
    await this.reads(writer, datasetPath, (body) => body.description === 'changed');

    const traceId = newTraceId();
    const attributes = { 'input.value': 'question', 'output.value': 'yes' };
    await this.post(writer, 200, '/telemetry/v1/traces', jsonExport([newSpan({ traceId, attributes })]));
    await this.reads(reader, `/telemetry/v1/traces/${traceId}`, (body) => body.trace_id === traceId);
    const score = await this.post(writer, 201, '/eval/v1/scores', {
      ...{ trace_id: traceId, scorer_name: 'thumbs', score: 1 },
    });
    const ofTrace = `/eval/v1/scores?trace_id=${traceId}`;
    await this.reads(reader, ofTrace, (body) => body.items[0]?.score_id === score.score_id);

    const experiment = await this.post(writer, 201, '/eval/v1/experiments', { name });
    const results = `/eval/v1/experiments/${experiment.experiment_id}/results`;
    await this.post(reader, 201, results, { case_id: '1', output: 'yes', scores: { exact: 1 } });
    await this.reads(writer, results, (body) => body.items[0].scores.exact === 1);

    if (round % 3 > 0) return;
    const scorer = { name, scorer_kind: 'code', definition: SCORER };
    const { scorer_id } = await this.post(writer, 201, '/eval/v1/scorers', scorer);
    const run = await this.post(writer, 202, `/eval/v1/scorers/${scorer_id}/score`, { trace_ids: [traceId] });
    const runPath = `/eval/v1/score-runs/${run.score_run_id}`;
    await until(async () => (await this.send(reader, 'GET', 200, runPath)).run_status === 'succeeded');
    await this.reads(
      reader,
      `${ofTrace}&score_run_id=${run.score_run_id}`,
      (body) => body.items[0]?.score === 1,
    );
  }

  private post(client: ApiClient, status: number, target: string, body: object): Promise<any> {
    const isExport = Buffer.isBuffer(body);
    return this.send(
      client,
      'POST',
      status,
      target,
      isExport ? body : { ...body, workspace_id: this.workspaceId },
    );
  }

  private async reads(client: ApiClient, target: string, isExpected: (body: any) => boolean): Promise<void> {
    const body = await this.send(client, 'GET', 200, target);
    if (!isExpected(body)) throw new Error(`GET ${client.baseUrl}${target}: ${JSON.stringify(body)}`);
  }

  private async send(client: ApiClient, method: string, status: number, target: string, body?: object) {
    const headers: Record<string, string> = Buffer.isBuffer(body)
      ? { 'content-type': 'application/json' }
      : {};
    const answer = await client.request(method, target, { body, headers });
    this.requests++;
    if (answer.status !== status) {
      throw new Error(
        `${method} ${client.baseUrl}${target}: ${answer.status} ${JSON.stringify(answer.body)}`,
      );
    }
    return answer.body;
  }
}
