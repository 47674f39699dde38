import { newSpan, SPAN_START, type TestApp, type TestAttributes, type TestSpan } from '#testing';
import type { TraceStatsDto } from '../../../src/evaluation/experiments/traces/trace-stats.dto';
import { RawExporter } from '../telemetry/otlp.harness';
import { EvaluationWorkspace } from './evaluation.harness';

type Fields = Record<string, unknown>;

export interface StatsRow {
  group: Record<string, string | null>;
  values: Record<string, number | null>;
}
export type Stats = Omit<TraceStatsDto, 'rows'> & { rows: StatsRow[] };

export const MS = 1_000_000n;

/** Returns the metrics of a query from names such as `duration_ms.p95`. */
export const metrics = (...names: string[]) =>
  names.map((name) => {
    const [measure, aggregation] = name.split('.');
    return { measure, aggregation };
  });

export const usage = (
  model: string,
  input: number,
  output: number,
  more: TestAttributes = {},
): TestAttributes => ({
  'gen_ai.response.model': model,
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
});
export const cost = (dollars: number): TestAttributes => ({ 'gen_ai.usage.cost': dollars });

export const statsPath = (experimentId: string): string =>
  `/eval/v1/experiments/${experimentId}/traces/stats/query`;

/** An experiment whose results reference traces, and its statistics. */
export class TracedExperiment {
  private constructor(
    readonly space: EvaluationWorkspace,
    readonly exporter: RawExporter,
    readonly id: string,
  ) {}

  static async open(app: TestApp): Promise<TracedExperiment> {
    const space = await EvaluationWorkspace.open(app);
    const exporter = new RawExporter(app.url, await space.organization.token('runtime'), space.id);
    return new TracedExperiment(space, exporter, (await space.experiment()).experiment_id);
  }

  /** Exports a root span and spans below it, and creates a result that references the trace. Returns the trace id. */
  async trace(
    { result, ...root }: Partial<TestSpan> & { result?: Fields } = {},
    ...below: Partial<TestSpan>[]
  ): Promise<string> {
    const first = newSpan(root);
    const { traceId, spanId: parentSpanId } = first;
    const spans = [first, ...below.map((span) => newSpan({ parentSpanId, ...span, traceId }))];
    const { status } = await this.exporter.protobuf(spans);
    if (status !== 200) throw new Error(`not exported: ${status}`);
    await this.space.result(this.id, { trace_id: traceId, ...result });
    return traceId;
  }

  lasting(ms: number, more: Parameters<TracedExperiment['trace']>[0] = {}): Promise<string> {
    return this.trace({ end: SPAN_START + BigInt(ms) * MS, ...more });
  }

  ask(body?: unknown) {
    return this.space.viewer.post<Stats>(statsPath(this.id), body);
  }

  async stats(body?: unknown): Promise<Stats> {
    const answer = await this.ask(body);
    if (answer.status !== 200) throw new Error(`no statistics: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async rows(body: unknown): Promise<StatsRow[]> {
    return (await this.stats(body)).rows;
  }

  /** Returns the values of the only row of a query without groups. */
  async values(names: string[], filters: Fields[] = []): Promise<StatsRow['values']> {
    return (await this.rows({ metrics: metrics(...names), filters }))[0]!.values;
  }
}
