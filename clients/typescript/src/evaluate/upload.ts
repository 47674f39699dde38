import type { Client } from '../client.js';
import { ServiceError } from '../core/errors.js';
import type { RunRequests } from './options.js';
import type { Scores } from './scoring.js';
import type { Spool } from './spool.js';
import type { UploadCounts } from './summary.js';
import type { Traceable, Traces } from './traces.js';

/** A finished result, on its way to the service. */
export interface FinishedResult extends Traceable {
  recordId: string | null;
  scores: Scores;
}

type Conflict = 'skip' | 'replace';

interface Queued {
  result: FinishedResult;
  /** Characters of its JSON. */
  size: number;
  hasTrace: boolean;
  conflict: Conflict;
  /** Whether it replaces a result that the service refused. */
  isRefusal: boolean;
}

/** Limits of one bulk call. The size is in characters, so that it stays below 4 MiB in any language. */
const BATCH_ITEMS = 100;
const BATCH_SIZE = 1024 * 1024;
const BATCH_MS = 1000;

/** The pool takes no case while as much waits. */
const WAITING_ITEMS = 200;
const WAITING_SIZE = 16 * 1024 * 1024;

/**
 * Uploads results in bulk calls, one at a time and in order, and acknowledges them in the spool. Results are sent with
 * `skip`, so that a repeat is stored once, and a failure never overwrites a success. A success that meets a stored failure is
 * sent again with `replace`.
 */
export class Uploader {
  readonly counts: UploadCounts = { stored: 0, alreadyStored: 0, refused: 0, discarded: 0 };
  /** Why results were refused, at most a few. */
  readonly refusals: string[] = [];
  /** How others have ended the experiment meanwhile, so that it takes no more results. */
  endedAs: 'completed' | 'failed' | null = null;
  /** What ended the uploads, if something did. */
  failure: unknown = null;
  private readonly queue: Queued[] = [];
  private size = 0;
  private batchItems = BATCH_ITEMS;
  private working: Promise<void> | null = null;
  private isDraining = false;
  private wake: () => void = () => undefined;
  private waiters: (() => void)[] = [];

  constructor(
    private readonly client: Client,
    private readonly experimentId: string,
    private readonly spool: Spool,
    private readonly traces: Traces,
    private readonly requests: RunRequests,
    private readonly onStop: () => void,
  ) {}

  /** Number of results that are not uploaded yet. */
  get waiting(): number {
    return this.queue.length;
  }

  /** Whether uploads have ended for good. */
  get isStopped(): boolean {
    return this.endedAs !== null || this.failure !== null;
  }

  add(result: FinishedResult): void {
    const size = sizeOf(result);
    this.queue.push({ result, size, hasTrace: false, conflict: 'skip', isRefusal: false });
    this.size += size;
    if (this.isStopped) return;
    this.working ??= this.work();
    this.wake();
  }

  /** Resolves once the pool may take another case. */
  async room(): Promise<void> {
    while (!this.isStopped && (this.queue.length >= WAITING_ITEMS || this.size >= WAITING_SIZE)) {
      await new Promise<void>((resolve) => this.waiters.push(resolve));
    }
  }

  /** Resolves when everything is uploaded, or uploads have ended. */
  async drain(): Promise<void> {
    this.isDraining = true;
    this.wake();
    await this.working;
  }

  private async work(): Promise<void> {
    try {
      while (this.queue.length > 0) {
        await this.fill();
        await this.send(this.nextBatch());
        this.waiters.splice(0).forEach((resolve) => resolve());
      }
    } catch (error) {
      this.failure = error;
    }
    this.working = null;
    if (!this.isStopped) return;
    this.waiters.splice(0).forEach((resolve) => resolve());
    this.onStop();
  }

  /** Waits until a batch is full, or its first result has waited long enough. */
  private async fill(): Promise<void> {
    const until = Date.now() + BATCH_MS;
    while (!this.isDraining && this.queue.length < this.batchItems && this.size < BATCH_SIZE) {
      const left = until - Date.now();
      if (left <= 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  private nextBatch(): Queued[] {
    const { conflict } = this.queue[0]!;
    let size = 0;
    let count = 0;
    for (const one of this.queue.slice(0, this.batchItems)) {
      size += one.size;
      if (one.conflict !== conflict || (count > 0 && size > BATCH_SIZE)) break;
      count += 1;
    }
    return this.queue.slice(0, count);
  }

  /** Sends one bulk call, and handles its outcome. Rejects if the service is away. */
  private async send(batch: readonly Queued[]): Promise<void> {
    await this.ship(batch);
    // the traces of the next full batch go out meanwhile
    const next = this.queue.slice(batch.length, batch.length + this.batchItems);
    const shipped = next.length === BATCH_ITEMS ? this.ship(next) : Promise.resolve();
    shipped.catch(() => undefined); // handled below
    const body = { on_conflict: batch[0]!.conflict, items: batch.map(({ result }) => itemOf(result)) };
    let answers: Answer[];
    try {
      answers = await this.post(body);
    } catch (error) {
      await shipped.catch(() => undefined);
      return this.failed(batch, error);
    }
    this.batchItems = Math.min(BATCH_ITEMS, this.batchItems * 2);
    this.remove(batch.length);
    const done: string[] = [];
    batch.forEach((one, index) => this.settle(one, answers[index]!, batch.length, done));
    this.spool.uploaded(done);
    await shipped;
  }

  /** Makes sure that the service has the traces of results before it gets the results. */
  private async ship(batch: readonly Queued[]): Promise<void> {
    const untraced = batch.filter(({ hasTrace }) => !hasTrace);
    await this.traces.ship(
      untraced.map(({ result }) => result),
      this.requests,
    );
    for (const one of untraced) one.hasTrace = true;
  }

  private async post(body: { on_conflict: Conflict; items: ReturnType<typeof itemOf>[] }): Promise<Answer[]> {
    const request = { experiment_id: this.experimentId, body };
    const { items } = await this.client.api.createResultsBulk(request, this.requests);
    return items;
  }

  /** Handles the outcome of one result. */
  private settle(one: Queued, answer: Answer, batchSize: number, done: string[]): void {
    const { status_code: status } = answer;
    if ('error' in answer) {
      // a call returns only as many results as fit into its answer
      if (status === 413 && batchSize > 1) {
        this.batchItems = Math.floor(batchSize / 2);
        this.requeue(one);
      } else if (status === 429 || status >= 500) {
        throw new Error(`The service could not store the result of ${one.result.id}: ${answer.error.detail}`);
      } else this.refuse(one, answer.error.detail, done);
      return;
    }
    const isStoredFailure = answer.result.error !== null;
    if (status === 200 && one.conflict === 'skip' && isStoredFailure && one.result.error === undefined) {
      this.requeue({ ...one, conflict: 'replace' });
      return;
    }
    if (status === 200 && one.conflict === 'skip') this.counts.alreadyStored += 1;
    else this.counts.stored += 1;
    done.push(one.result.id);
  }

  /** Handles a call that failed as a whole: sends less at once, or ends the uploads. */
  private async failed(batch: readonly Queued[], error: unknown): Promise<void> {
    if (error instanceof ServiceError && [400, 413, 422].includes(error.status)) {
      if (batch.length > 1) {
        this.batchItems = Math.floor(batch.length / 2);
        return;
      }
      this.remove(1);
      const done: string[] = [];
      this.refuse(batch[0]!, error.detail, done);
      this.spool.uploaded(done);
      return;
    }
    if (!(error instanceof ServiceError) || error.status !== 409) throw error;
    const request = { experiment_id: this.experimentId };
    const { experiment_status } = await this.client.api.getExperiment(request, this.requests);
    if (experiment_status === 'running') throw error;
    this.endedAs = experiment_status;
    this.counts.discarded += this.queue.length;
    this.spool.uploaded(this.queue.map(({ result }) => result.id));
    this.remove(this.queue.length);
  }

  /** Stores why a result was refused in its place, or gives it up if that is refused as well. */
  private refuse(one: Queued, detail: string, done: string[]): void {
    const { result } = one;
    if (one.isRefusal) {
      done.push(result.id);
      return;
    }
    this.counts.refused += 1;
    if (this.refusals.length < 5) this.refusals.push(`${result.id}: ${detail}`);
    const { output: _, scores: __, ...rest } = result;
    const error = `The service refused this result: ${detail}`;
    const refusal = { ...rest, error, scores: {} };
    this.requeue({ ...one, result: refusal, size: sizeOf(refusal), conflict: 'skip', isRefusal: true });
  }

  private requeue(one: Queued): void {
    this.queue.unshift(one);
    this.size += one.size;
  }

  private remove(count: number): void {
    for (const { size } of this.queue.splice(0, count)) this.size -= size;
  }
}

/** The outcome of one item of a bulk call. */
type Answer = Awaited<ReturnType<Client['api']['createResultsBulk']>>['items'][number];

const sizeOf = (result: FinishedResult): number => JSON.stringify(itemOf(result)).length;

/** Returns a result as the service takes it. */
const itemOf = (result: FinishedResult) => ({
  case_id: result.id,
  ...(result.recordId !== null && { dataset_record_id: result.recordId }),
  ...(result.output !== undefined && { output: result.output }),
  ...(result.error !== undefined && { error: result.error }),
  ...(result.traceId !== null && { trace_id: result.traceId }),
  duration_ms: result.durationMs,
  scores: result.scores,
});
