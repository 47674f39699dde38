import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { StreamFailure } from '../formats/stream-failure';
import type { CalledTarget } from '../models/model-directory';
import { AnswerCache } from './answer-cache';
import type { AnswerFacts } from './answer-shapes';
import { type Call, type CallOutcome, NO_FACTS, NO_USAGE, type Recorded } from './call.types';
import { CallRecorder } from './call-recorder';
import { brokenStream, failureEvent } from './failure-events';
import { Shaper } from './shaper';
import {
  type Answered,
  InterruptedCall,
  type StreamAnswer,
  TargetCaller,
  UnansweredCall,
} from './target-caller';

/** The recorded answer of a model. */
export interface ModelAnswer extends Recorded {
  bytes: Uint8Array;
  /** The target that answered. Null for a cached answer. */
  target: CalledTarget | null;
  /** The value of `Cache-Status`. Undefined for a model whose answers are not cached. */
  cacheStatus: string | undefined;
}

/** A streamed answer. It is recorded before its last bytes are yielded. */
export interface ModelStream {
  parts: AsyncGenerator<Buffer, void, undefined>;
  cacheStatus: string | undefined;
}

/** How long a stopping process waits for calls to be recorded, in milliseconds. */
const RECORDING_MS = 5_000;

/** Calls a model: looks for a cached answer, calls the targets, and records the call, whatever its outcome. */
@Injectable()
export class ModelCaller implements OnApplicationShutdown {
  /** Number of calls that are not recorded yet. */
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
      return await this.answerOf(call);
    } finally {
      this.end();
    }
  }

  /** Waits for calls whose clients have disconnected, because their usage also counts. */
  async onApplicationShutdown(): Promise<void> {
    if (this.open === 0) return;
    const allRecorded = new Promise<void>((resolve) => (this.onAllRecorded = resolve));
    await withDeadline(allRecorded, RECORDING_MS, 'model calls are not recorded yet').catch((err: unknown) =>
      rootLogger.error(
        { err, calls: this.open },
        'model calls could not be recorded before the process stopped',
      ),
    );
  }

  private end(): void {
    this.open--;
    if (this.open === 0) this.onAllRecorded?.();
  }

  private async answerOf(call: Call): Promise<ModelAnswer> {
    const startedAt = Date.now();
    const cached = await this.recordingFailures(call, startedAt, () => this.cache.lookUp(call));
    if (cached.body) {
      const { body } = cached;
      const facts = await this.recordingFailures(call, startedAt, () => this.factsOf(call, body));
      const outcome = { ...NO_OUTCOME, facts, isCached: true };
      const recorded = await this.recorder.record(call, outcome, startedAt, null);
      return { ...recorded, bytes: cached.body, target: null, cacheStatus: cached.status };
    }
    const { answer, target, attempts } = await this.recordingFailures(call, startedAt, () =>
      this.targets.plain(call),
    );
    const outcome: CallOutcome = { ...NO_OUTCOME, target, attempts, facts: answer.facts };
    const length = answer.facts.text.length;
    const [recorded] = await Promise.all([
      this.recorder.record(call, outcome, startedAt, length),
      cached.store(answer.bytes),
    ]);
    return { ...recorded, bytes: answer.bytes, target, cacheStatus: cached.status };
  }

  /**
   * Returns the answer once it has started. Throws a `Problem`, or the signal's reason. If the answer breaks off, its parts end
   * with an event that reports it, and then throw.
   */
  async stream(call: Call): Promise<ModelStream> {
    const startedAt = Date.now();
    this.open++;
    try {
      const [{ status: cacheStatus }, answered] = await this.recordingFailures(call, startedAt, async () => [
        await this.cache.lookUp(call),
        await this.targets.stream(call),
      ]);
      return { parts: this.partsOf(call, answered, startedAt), cacheStatus };
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
      const outcome = { ...NO_OUTCOME, target, attempts, facts: shape.facts, error, firstByteMs };
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
        throw brokenStream(target, error);
      }
      await record(null);
      yield last;
    } finally {
      try {
        await rest.return();
      } finally {
        // the client has disconnected, but the tokens were used
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
      let cause = error;
      if (error instanceof UnansweredCall) cause = error.problem;
      if (error instanceof InterruptedCall) cause = error.reason;
      // the provider has received the request, and may charge for it
      const answeredLength = error instanceof InterruptedCall ? 0 : null;
      await this.recordFailure(call, startedAt, error, errorTypeOf(call, cause), answeredLength);
      throw cause;
    }
  }

  private async recordFailure(
    call: Call,
    startedAt: number,
    failure: unknown,
    error: string,
    answeredLength: number | null,
  ): Promise<void> {
    const isSent = failure instanceof UnansweredCall || failure instanceof InterruptedCall;
    const { target, attempts } = isSent ? failure : NO_OUTCOME;
    await this.recorder.record(call, { ...NO_OUTCOME, target, attempts, error }, startedAt, answeredLength);
  }

  /** Returns the facts of a cached answer, without usage, because it used no tokens. */
  private async factsOf(call: Call, bytes: Uint8Array): Promise<AnswerFacts> {
    const { format, owner, signal } = call;
    const kind = format === 'messages' ? 'anthropic' : 'openai';
    const shaped = await this.shaper.answer(owner, signal, { bytes, format, kind, request: NOTHING });
    return 'facts' in shaped ? { ...shaped.facts, usage: NO_USAGE } : NO_FACTS;
  }
}

const NOTHING = new Uint8Array();

/** Returns the error type of a failed call. 408 means that the client disconnected. A deadline is 504. */
function errorTypeOf({ signal }: Call, error: unknown): string {
  if (error instanceof Problem && error.status !== 408) return error.code;
  return signal.aborted ? 'client_gone' : 'internal_error';
}

const NO_OUTCOME: CallOutcome = {
  target: null,
  facts: NO_FACTS,
  attempts: 0,
  error: null,
  isCached: false,
  firstByteMs: null,
};
