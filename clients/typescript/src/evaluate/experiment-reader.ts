import type { Comparison, Experiment, GateResult } from '../api/types.cjs';
import type { Client } from '../client.js';
import type { RequestOptions } from '../api/calls.cjs';
import { ServiceError } from '../core/errors.js';
import { type Failure, readFailures } from './failures.js';
import { type LowScore, readLowest } from './lowest.js';
import type { EvaluateOptions, Gate } from './options.js';
import type { Regression, ScoreSummary, SummaryFields } from './summary.js';

const SHOWN_MAX = 20;

/** An id that no experiment has. */
const NO_EXPERIMENT = `exp_${'0'.repeat(26)}`;

/** Rejects if the service would refuse the gate or the baseline at the end of the run. Errors: 400, 404 and `TypeError`. */
export async function checkGate(
  client: Client,
  { gate, baseline }: Pick<EvaluateOptions, 'gate' | 'baseline'>,
  options: RequestOptions,
): Promise<void> {
  if (baseline !== undefined) {
    const { experiment_status } = await client.api.getExperiment({ experiment_id: baseline }, options);
    if (experiment_status !== 'completed') {
      throw new TypeError(
        `baseline: the experiment ${baseline} is ${experiment_status}. Use one that is completed.`,
      );
    }
  }
  if (!gate) return;
  try {
    // The service checks the rules first. A check of the run's own experiment would be kept, although it has no results.
    await client.api.checkGate({ experiment_id: NO_EXPERIMENT, body: bodyOf(gate) }, options);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 404) throw error;
  }
}

function bodyOf(gate: Gate) {
  const whole = 'rules' in gate ? gate : { rules: gate };
  return { ...whole, rules: whole.rules.map((rule) => ({ ...rule })) };
}

/** Reads and finalizes the experiment of a run. */
export class ExperimentReader {
  private readonly gate: Gate | undefined;
  private readonly baseline: string | undefined;

  constructor(
    private readonly client: Client,
    private readonly experimentId: string,
    { gate, baseline }: Pick<EvaluateOptions, 'gate' | 'baseline'>,
    private readonly options: RequestOptions,
  ) {
    this.gate = gate;
    this.baseline = baseline;
  }

  private get id() {
    return { experiment_id: this.experimentId };
  }

  /** Returns how many cases are in which state. */
  async countCases(total: number): Promise<{ total: number; done: number; failed: number; pending: number }> {
    const [failed, pending] = [await this.count('failed'), await this.count('pending')];
    return { total, failed, pending, done: total - failed - pending };
  }

  /** Counts cases in a state, page by page if the service does not count them. */
  private async count(state: 'failed' | 'pending'): Promise<number> {
    const { page } = await this.client.api.listExperimentCases({ ...this.id, state, limit: 0 }, this.options);
    if (page.total !== null) return page.total;
    let count = 0;
    const list = this.client.api.listExperimentCases(
      { ...this.id, state, limit: 500, total: false },
      this.options,
    );
    for await (const { items } of list.pages()) count += items.length;
    return count;
  }

  failures(): Promise<Failure[]> {
    return readFailures(this.client, this.experimentId, this.options);
  }

  lowest(fields: SummaryFields): Promise<LowScore[]> {
    return readLowest(this.client, this.experimentId, fields, this.options);
  }

  /** Completes the experiment. Returns how another job has ended it before, or null. */
  async complete(metrics: Record<string, number>): Promise<'completed' | 'failed' | null> {
    try {
      await this.client.api.updateExperiment(
        { ...this.id, body: { experiment_status: 'completed', metrics } },
        this.options,
      );
      return null;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 409) throw error;
      const { experiment_status } = await this.read();
      if (experiment_status === 'running') throw error;
      return experiment_status;
    }
  }

  read(): Promise<Experiment> {
    return this.client.api.getExperiment(this.id, this.options).then((experiment) => experiment);
  }

  /** Checks the gate, or returns null without one. */
  async check(): Promise<GateResult | null> {
    if (!this.gate) return null;
    const body = { ...bodyOf(this.gate), ...this.against };
    return this.client.api.checkGate({ ...this.id, body }, this.options).then((result) => result);
  }

  /** Returns the means of all scorers, and their intervals as far as the gate or the comparison have computed them. */
  async scores(
    gate: GateResult | null,
    comparison: Comparison | null,
  ): Promise<Record<string, ScoreSummary>> {
    const { current_scores = {} } = await this.read();
    const summaries = Object.entries(current_scores).map(
      ([name, { mean, count }]): [string, ScoreSummary] => {
        const check = gate?.checks.find(({ scorer, kind }) => scorer === name && kind === 'min_mean');
        return [
          name,
          { mean, count, interval: check?.confidence_interval ?? null, change: changeOf(name, comparison) },
        ];
      },
    );
    return Object.fromEntries(summaries);
  }

  /** Compares with the baseline. Returns null if there is none. */
  async compare(): Promise<Comparison | null> {
    try {
      return await this.client.api.compareExperiments(
        { ...this.id, ...this.against, limit: 0 },
        this.options,
      );
    } catch (error) {
      if (error instanceof ServiceError && error.status === 400) return null; // there is no baseline
      throw error;
    }
  }

  /** Returns the cases that got worse, by scorer, the worst first. */
  async regressions(comparison: Comparison | null): Promise<Regression[]> {
    const found: Regression[] = [];
    for (const { scorer, regressed } of comparison?.scorers ?? []) {
      if (regressed === 0) continue;
      const { cases } = await this.client.api.compareExperiments(
        { ...this.id, ...this.against, scorer, only: 'regressed', limit: SHOWN_MAX },
        this.options,
      );
      for (const one of cases.items) {
        found.push({
          scorer,
          caseId: one.case_id,
          difference: one.difference ?? 0,
          input: one.input,
          expected: one.expected,
          output: one.candidate[0]?.output,
          baselineOutput: one.baseline[0]?.output,
        });
      }
    }
    return found;
  }

  private get against() {
    return this.baseline === undefined ? {} : { baseline_experiment_id: this.baseline };
  }
}

function changeOf(name: string, comparison: Comparison | null): ScoreSummary['change'] {
  const compared = comparison?.scorers?.find(({ scorer }) => scorer === name);
  if (!compared) return null;
  const { baseline, difference, confidence_interval, verdict, reason } = compared;
  return { baselineMean: baseline.mean, difference, interval: confidence_interval, verdict, reason };
}

/** Returns the metrics of a run as experiments keep them. One that was interrupted has no duration. */
export const metricsOf = ({
  cases,
  durationMs,
  resumed,
}: Pick<SummaryFields, 'cases' | 'durationMs' | 'resumed'>) => ({
  cases: cases.total,
  successful_cases: cases.done,
  failed_cases: cases.failed,
  ...(!resumed && { duration_ms: Math.round(durationMs) }),
});
