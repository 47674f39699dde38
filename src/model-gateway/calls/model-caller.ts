import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { StreamFailure } from '../formats/stream-failure';
import { AnswerCache } from './answer-cache';
import type { AnswerFacts } from './answer-shapes';
import { type Call, type CallOutcome, NO_FACTS, NO_USAGE, type Recorded } from './call.types';
import { CallRecorder } from './call-recorder';
import { brokenOff, failureEvent } from './failure-events';
import { Shaper } from './shaper';
import { type Answered, Interrupted, type StreamAnswer, TargetCaller, Unanswered } from './target-caller';

/** The answer of a model, recorded. */
export interface ModelAnswer extends Recorded {
  bytes: Uint8Array;
  /** The value of `Cache-Status`; undefined for a model whose answers are not kept. */
  cacheStatus: string | undefined;
}

/** A streamed answer, which is recorded before its last bytes. */
export interface ModelStream {
  parts: AsyncGenerator<Buffer, void, undefined>;
  cacheStatus: string | undefined;
}

/** How long a process that stops waits for calls to be recorded, in milliseconds. */
const RECORDING_MS = 5_000;

/** Calls a model: looks for a kept answer, calls its targets, and records the call however it ends. */
@Injectable()
export class ModelCaller implements OnApplicationShutdown {
  /** Calls that are not recorded yet. */
  private open = 0;
  private onAllRecorded: (() => void) | undefined;

  constructor(
    private readonly targets: TargetCaller,
    private readonly recorder: CallRecorder,
    private readonly cache: AnswerCache,
    private readonly shaper: Shaper,
  ) {}

  /** Returns the whole answer. Throws a `Problem`, or the signal's reason. */
  async plain(call: Call): Promise<ModelAnswer> {
    this.open++;
    try {
      return await this.answered(call);
    } finally {
      this.end();
    }
  }

  /** Waits for the calls whose clients have gone, because their usage counts too. */
  async onApplicationShutdown(): Promise<void> {
    if (this.open === 0) return;
    const allRecorded = new Promise<void>((resolve) => (this.onAllRecorded = resolve));
    await withDeadline(allRecorded, RECORDING_MS, 'calls of models are not recorded yet').catch(
      (err: unknown) => rootLogger.error({ err, calls: this.open }, 'calls of models are lost'),
    );
  }

  private end(): void {
    this.open--;
    if (this.open === 0) this.onAllRecorded?.();
  }

  private async answered(call: Call): Promise<ModelAnswer> {
    const startedAt = Date.now();
    const cached = await this.recordingFailures(call, startedAt, () => this.cache.look(call));
    if (cached.body) {
      const { body } = cached;
      const facts = await this.recordingFailures(call, startedAt, () => this.factsOf(call, body));
      const outcome = { ...NOBODY, facts, isCached: true };
      const recorded = await this.recorder.record(call, outcome, startedAt, null);
      return { ...recorded, bytes: cached.body, cacheStatus: cached.status };
    }
    const { answer, target, attempts } = await this.recordingFailures(call, startedAt, () =>
      this.targets.plain(call),
    );
    const outcome: CallOutcome = { ...NOBODY, target, attempts, facts: answer.facts };
    const length = answer.facts.text.length;
    const [recorded] = await Promise.all([
      this.recorder.record(call, outcome, startedAt, length),
      cached.keep(answer.bytes),
    ]);
    return { ...recorded, bytes: answer.bytes, cacheStatus: cached.status };
  }

  /**
   * Returns the answer once it has begun. Throws a `Problem`, or the signal's reason. An answer that breaks off ends with an event
   * that says so, and then throws.
   */
  async stream(call: Call): Promise<ModelStream> {
    const startedAt = Date.now();
    this.open++;
    try {
      const [{ status: cacheStatus }, begun] = await this.recordingFailures(call, startedAt, async () => [
        await this.cache.look(call),
        await this.targets.stream(call),
      ]);
      return { parts: this.partsOf(call, begun, startedAt), cacheStatus };
    } catch (error) {
      this.end();
      throw error;
    }
  }

  private async *partsOf(
    call: Call,
    { answer: { first, rest, shape }, target, attempts }: Answered<StreamAnswer>,
    startedAt: number,
  ): AsyncGenerator<Buffer, void, undefined> {
    const firstByteMs = Date.now() - startedAt;
    let isRecorded = false;
    const record = async (error: string | null): Promise<void> => {
      isRecorded = true;
      const outcome = { ...NOBODY, target, attempts, facts: shape.facts, error, firstByteMs };
      await this.recorder.record(call, outcome, startedAt, shape.length);
    };
    try {
      let last: Buffer;
      try {
        if (first.length > 0) yield first;
        yield* rest;
        last = shape.end();
      } catch (error) {
        if (call.signal.aborted) throw error;
        await record(error instanceof StreamFailure ? error.type : 'connection_error');
        yield failureEvent(call, target, error);
        throw brokenOff(target, error);
      }
      await record(null);
      yield last;
    } finally {
      try {
        await rest.return();
      } finally {
        // the client has gone, and the tokens were used all the same
        if (!isRecorded) await record('client_gone').finally(() => this.end());
        else this.end();
      }
    }
  }

  private async recordingFailures<Result>(
    call: Call,
    startedAt: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      let found = error;
      if (error instanceof Unanswered) found = error.problem;
      if (error instanceof Interrupted) found = error.reason;
      // the provider has the request, and may charge for it
      const answeredLength = error instanceof Interrupted ? 0 : null;
      await this.recordFailure(call, startedAt, error, errorTypeOf(call, found), answeredLength);
      throw found;
    }
  }

  private async recordFailure(
    call: Call,
    startedAt: number,
    failure: unknown,
    error: string,
    answeredLength: number | null,
  ): Promise<void> {
    const isSent = failure instanceof Unanswered || failure instanceof Interrupted;
    const { target, attempts } = isSent ? failure : NOBODY;
    await this.recorder.record(call, { ...NOBODY, target, attempts, error }, startedAt, answeredLength);
  }

  /** Returns what a kept answer says about itself. It used nothing. */
  private async factsOf(call: Call, bytes: Uint8Array): Promise<AnswerFacts> {
    const { format, owner, signal } = call;
    const kind = format === 'messages' ? 'anthropic' : 'openai';
    const shaped = await this.shaper.answer(owner, signal, { bytes, format, kind, request: NOTHING });
    return 'facts' in shaped ? { ...shaped.facts, usage: NO_USAGE } : NO_FACTS;
  }
}

const NOTHING = new Uint8Array();

/** Names why a call has failed. 408 is a client that has gone; a deadline is 504. */
function errorTypeOf({ signal }: Call, error: unknown): string {
  if (error instanceof Problem && error.status !== 408) return error.code;
  return signal.aborted ? 'client_gone' : 'internal_error';
}

const NOBODY: CallOutcome = {
  target: null,
  facts: NO_FACTS,
  attempts: 0,
  error: null,
  isCached: false,
  firstByteMs: null,
};
