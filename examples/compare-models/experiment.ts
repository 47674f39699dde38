import { setTimeout as delay } from 'node:timers/promises';
import type { Case } from './cases';
import type { Progress } from './progress';
import type { Service } from './service';
import type { Tracing } from './tracing';

/** The maximum size of one call: results of a bulk upload, or targets of a scoring run. */
const BATCH = 100;
/** Number of scoring runs to keep open at a time. */
const OPEN_RUNS = 4;
const POLL_MS = 100;

export const batchesOf = <Item>(items: Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, i) => items.slice(i * BATCH, (i + 1) * BATCH));

interface Bulk {
  items: { status_code: number; error?: { detail: string } }[];
}

interface ScoreRun {
  score_run_id: string;
  run_status: string;
  completed_count: number;
  failed_count: number;
  failure_detail: string | null;
}

interface Experiment {
  experiment_id: string;
  summary: { scores: Record<string, { mean: number; count: number } | undefined> };
}

export interface Outcome {
  model: string;
  cases: number;
  mean: number;
  /** Share of the answers that people marked as right. Null unless every answer has a label. */
  labelled: number | null;
  seconds: number;
}

/** Throws an Error with the detail if an item of a bulk call failed. */
export function checkBulk({ items }: Bulk): void {
  const failed = items.find((item) => item.status_code >= 300);
  if (failed) throw new Error(`The service rejected an item: ${failed.error?.detail}`);
}

/** Uploads one model's traces and results, lets the service score them, and finalizes the experiment. */
export class ModelExperiment {
  constructor(
    private readonly service: Service,
    private readonly tracing: Tracing,
    private readonly dataset: { dataset_id: string; recordIds: Map<string, string> },
    private readonly scorer: { scorer_id: string; name: string },
    private readonly progress: Progress,
  ) {}

  async run(model: string, cases: Case[]): Promise<Outcome> {
    const startedAt = performance.now();
    const answered = cases.filter((one) => one.answers.has(model));
    const { experiment_id } = await this.service.post<Experiment>('/eval/v1/experiments', {
      workspace_id: this.service.connection.workspace_id,
      name: 'compare-models',
      experiment_name: model,
      dataset_id: this.dataset.dataset_id,
      config: { model },
    });
    const traceIds = await this.upload(model, experiment_id, answered);
    await this.score(model, experiment_id, traceIds);
    const finished = await this.service.patch<Experiment>(`/eval/v1/experiments/${experiment_id}`, {
      experiment_status: 'completed',
      metrics: {
        cases: answered.length,
        successful_cases: answered.length,
        failed_cases: 0,
        duration_ms: Math.round(performance.now() - startedAt),
      },
    });
    const summary = finished.summary.scores[this.scorer.name];
    const labels = answered.flatMap((one) => one.answers.get(model)?.is_correct ?? []);
    return {
      model,
      cases: summary?.count ?? 0,
      mean: summary?.mean ?? Number.NaN,
      labelled: labels.length === answered.length ? labels.filter(Boolean).length / labels.length : null,
      seconds: (performance.now() - startedAt) / 1000,
    };
  }

  /** Exports a trace for each answer. Once the traces are stored, uploads the results that name them. */
  private async upload(model: string, experimentId: string, cases: Case[]): Promise<string[]> {
    const traceIds: string[] = [];
    for (const batch of batchesOf(cases)) {
      const items = batch.map((one) => {
        const { solution } = one.answers.get(model)!;
        const trace_id = this.tracing.record(model, one.question, solution);
        traceIds.push(trace_id);
        return {
          case_id: one.id,
          dataset_record_id: this.dataset.recordIds.get(one.id),
          input: { question: one.question },
          expected: { ground_truth: one.ground_truth },
          output: { solution },
          trace_id,
        };
      });
      await this.tracing.flush();
      const { workspace_id } = this.service.connection;
      checkBulk(
        await this.service.post<Bulk>(`/eval/v1/experiments/${experimentId}/results/bulk`, {
          workspace_id,
          items,
        }),
      );
      this.progress.show(`${model}: uploaded`, traceIds.length, cases.length);
    }
    return traceIds;
  }

  /** Scores all traces in runs of at most 100, several at a time. */
  private async score(model: string, experimentId: string, traceIds: string[]): Promise<void> {
    const waiting = batchesOf(traceIds);
    let scored = 0;
    const work = async (): Promise<void> => {
      for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
        const run = await this.finish(
          await this.service.post<ScoreRun>(`/eval/v1/scorers/${this.scorer.scorer_id}/score`, {
            experiment_id: experimentId,
            trace_ids: batch,
            concurrency: 16,
          }),
        );
        if (run.run_status !== 'succeeded' || run.failed_count > 0) {
          throw new Error(
            `The scoring run ${run.score_run_id} ended as ${run.run_status}, with ${run.failed_count} targets that could not be scored. ${run.failure_detail ?? ''}`,
          );
        }
        scored += batch.length;
        this.progress.show(`${model}: scored`, scored, traceIds.length);
      }
    };
    await Promise.all(Array.from({ length: OPEN_RUNS }, work));
  }

  private async finish(run: ScoreRun): Promise<ScoreRun> {
    let current = run;
    while (current.run_status === 'queued' || current.run_status === 'running') {
      await delay(POLL_MS);
      current = await this.service.get<ScoreRun>(`/eval/v1/score-runs/${run.score_run_id}`);
    }
    return current;
  }
}
