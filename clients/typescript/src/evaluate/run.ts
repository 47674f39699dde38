import type { Client } from '../client.js';
import type { RequestOptions } from '../api/calls.cjs';
import { nodeModule } from '../core/node.js';
import { callTask } from './call.js';
import { type CaseRun, casesToRun } from './cases.js';
import type { OpenExperiment } from './open-experiment.js';
import type { EvaluateOptions, Task, RunRequests } from './options.js';
import type { Reporter } from './report.js';
import { runScorers, type SplitScorers } from './scoring.js';
import type { FinishedCall, Spool } from './spool.js';
import type { UploadCounts } from './summary.js';
import { Traces } from './traces.js';
import { Uploader } from './upload.js';

/** Everything that a run needs. */
export interface RunSetup extends OpenExperiment {
  client: Client;
  options: EvaluateOptions;
  /** How requests are made: until the user's signal, and as long as the options say. */
  requests: RequestOptions & { retryForMs: number };
  scorers: SplitScorers;
  spool: Spool;
  reporter: Reporter;
}

/** What a run did. */
export interface RunOutcome {
  /** Why it ended before all results were uploaded. Null if it did not, or if others ended the experiment. */
  failure: unknown;
  /** How others have ended the experiment meanwhile. */
  endedAs: Uploader['endedAs'];
  /** Calls of the task that have ended. */
  called: number;
  /** Results that are finished, with the successful ones of earlier attempts. */
  finished: number;
  /** Those of this attempt that have an error. */
  failed: number;
  uploads: UploadCounts;
  refusals: readonly string[];
  traces: { sent: number; missing: number };
  traceProblem: string | null;
}

/** How long uploads go on after the user's signal. */
const ABORTED_UPLOAD_MS = 10_000;

/** One run of an experiment: calls the task for the cases that are left, scores the outputs, and uploads the results. */
export class Run {
  private readonly traces: Traces;
  private readonly uploader: Uploader;
  /** Aborted when no more calls are made: by the user's signal, or because uploads have ended. */
  private readonly stop = new AbortController();
  /** Aborted some time after the user's signal, so that what is finished is uploaded. */
  private readonly uploadStop = new AbortController();
  private readonly requests: RunRequests;
  /** Number of cases that are running, and what to do when one ends. */
  private running = 0;
  private onEnd: () => void = () => undefined;
  private called = 0;
  private finished: number;
  private failed = 0;

  constructor(private readonly setup: RunSetup) {
    const { client, options, spool, experiment } = setup;
    this.finished = setup.kept;
    this.requests = { ...setup.requests, signal: this.uploadStop.signal };
    // each running case listens; Node warns about more than 10
    nodeModule('events')?.setMaxListeners(0, this.stop.signal, this.uploadStop.signal);
    this.traces = new Traces(client, { name: options.name, experimentId: experiment.experiment_id });
    const onStop = (): void => this.stop.abort(new Error('The uploads have ended.'));
    const { experiment_id } = experiment;
    this.uploader = new Uploader(client, experiment_id, spool, this.traces, this.requests, onStop);
  }

  /** Makes the results that are left, until the user's signal. */
  async runCases(): Promise<RunOutcome> {
    const { signal } = this.setup.options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const abort = (): void => {
      this.stop.abort(signal!.reason);
      timer = setTimeout(() => this.uploadStop.abort(signal!.reason), ABORTED_UPLOAD_MS);
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    try {
      return this.outcome(await this.runAll());
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  private outcome(failure: unknown): RunOutcome {
    const { uploader, traces, called, finished, failed } = this;
    return {
      failure,
      endedAs: uploader.endedAs,
      called,
      finished,
      failed,
      uploads: uploader.counts,
      refusals: uploader.refusals,
      traces: { sent: traces.sent, missing: traces.missing },
      traceProblem: traces.problem,
    };
  }

  /** Calls the task for each case that is left, `concurrency` at a time. Returns why it ended early, or null. */
  private async runAll(): Promise<unknown> {
    const { client, experiment, options, isNew } = this.setup;
    const { concurrency = 1 } = options;
    const { experiment_id, trials } = experiment;
    let failure: unknown = null;
    try {
      const source = { experimentId: experiment_id, trials, isNew };
      for await (const one of casesToRun(client, source, this.requests)) {
        await this.atMost(concurrency - 1);
        await this.uploader.room();
        if (this.stop.signal.aborted) break;
        this.running += 1;
        void this.runCase(one);
      }
    } catch (error) {
      failure = error;
    }
    await this.atMost(0);
    await this.uploader.drain();
    if (this.uploader.endedAs !== null) return null;
    return failure ?? this.uploader.failure ?? (this.stop.signal.aborted ? this.stop.signal.reason : null);
  }

  /** Waits until at most so many cases are running. */
  private async atMost(count: number): Promise<void> {
    while (this.running > count) await new Promise<void>((resolve) => (this.onEnd = resolve));
  }

  /** Makes one result. Never rejects: what is interrupted by the end of the run is left for the next run. */
  private async runCase(one: CaseRun): Promise<void> {
    const { spool } = this.setup;
    try {
      const recovered = spool.take(one.id) ?? (await this.storedCall(one));
      const call = recovered ?? (await this.call(one));
      await this.score(one, call);
      const { scored, ...result } = call;
      const error = result.error ?? scored?.error;
      this.uploader.add({
        ...result,
        id: one.id,
        recordId: one.recordId,
        input: one.input,
        isRecovered: recovered !== undefined,
        scores: scored?.scores ?? {},
        ...(error !== undefined && { error }),
      });
      this.progress(error !== undefined);
    } catch (error) {
      this.stop.abort(error); // without effect if this interrupted the case
    }
    this.running -= 1;
    this.onEnd();
  }

  /** Returns the call of a failed result that has an output. Only a scorer failed, so the task need not be called again. */
  private async storedCall({ id, hasFailed }: CaseRun): Promise<FinishedCall | undefined> {
    if (!hasFailed) return undefined;
    const { client, experiment } = this.setup;
    const request = { experiment_id: experiment.experiment_id, case_id: id, limit: 1, total: false };
    const [result] = (await client.api.listResults(request, this.requests)).items;
    if (!result || result.output === null) return undefined;
    const { output, trace_id: traceId, created_at, duration_ms } = result;
    const startedAt = Date.parse(created_at);
    return { output, traceId, isTraceDerived: false, startedAt, durationMs: duration_ms ?? 0 };
  }

  /** Calls the task, and keeps what it gave before anything else happens. */
  private async call(one: CaseRun): Promise<FinishedCall> {
    const { options, spool } = this.setup;
    const { recordId: _, hasFailed: __, caseId, ...given } = one;
    const limits = { timeoutMs: options.timeoutMs ?? 600_000, retries: options.retries ?? 0 };
    const task = options.task as Task<unknown, unknown, unknown>;
    const startedAt = Date.now();
    const start = performance.now();
    const { value, traceId, isDerived } = await this.traces.call(one.id, one.input, () =>
      callTask(task, { ...given, id: caseId }, limits, this.stop.signal),
    );
    const { outputJson, ...outcome } = value;
    const durationMs = Math.round((performance.now() - start) * 1000) / 1000;
    const call: FinishedCall = { ...outcome, traceId, isTraceDerived: isDerived, startedAt, durationMs };
    this.called += 1;
    spool.call(one.id, call, outputJson);
    return call;
  }

  /** Runs the local scorers over an output that has no scores yet. */
  private async score(one: CaseRun, call: FinishedCall): Promise<void> {
    const { scorers, spool, options } = this.setup;
    if (call.scored || call.error !== undefined || scorers.local.size === 0) return;
    const { recordId: _, hasFailed: __, caseId, ...given } = one;
    const scored = { ...given, id: caseId, output: call.output };
    call.scored = await runScorers(scorers, scored, options.scorerTimeoutMs ?? 60_000, this.stop.signal);
    spool.scored(one.id, call.scored);
  }

  private progress(hasFailed: boolean): void {
    const { experiment, reporter } = this.setup;
    this.finished += 1;
    if (hasFailed) this.failed += 1;
    reporter.progress({
      experimentId: experiment.experiment_id,
      total: experiment.expected_result_count ?? 0,
      finished: this.finished,
      failed: this.failed,
      waiting: this.uploader.waiting,
    });
  }
}
