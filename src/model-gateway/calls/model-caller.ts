import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { outboundFailure } from '#platform/outbound';
import { Problem } from '#platform/problem';
import type { JsonObject } from '../formats/json-shape';
import { formatSse } from '../formats/sse';
import { StreamFailure } from '../formats/stream-failure';
import { NO_USAGE } from '../formats/usage';
import type { TranslatedAnswer } from './answer-translation';
import { AnswerCacheRepository, type CacheLookup } from './answer-cache.repository';
import { type Call, type CallFormat, type CallOutcome, NO_FACTS, type Recorded } from './call.types';
import { CallFailure } from './call-failure';
import { CallRecorder } from './call-recorder';
import { isStreamFault } from './reported-failure';
import { type StreamAnswer, TargetCaller } from './target-caller';

/** The recorded answer of a model. */
export interface ModelAnswer extends Recorded {
  bytes: Buffer;
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
    private readonly cache: AnswerCacheRepository,
  ) {}

  /** Returns the whole answer. Throws `CallFailure`, a `Problem`, or the signal's reason. */
  async plain(call: Call): Promise<ModelAnswer> {
    const startedAt = Date.now();
    this.open++;
    try {
      const { cached, answer } = await this.recordingFailure(call, startedAt, () => this.answerOf(call));
      const { bytes, facts, length } = answer;
      const isCached = cached?.body != null;
      const outcome = { ...NO_OUTCOME, facts, isCached };
      if (!isCached) this.targets.answered(call);
      const recording = this.recorder.record(call, outcome, startedAt, isCached ? null : length);
      if (cached && !isCached) await Promise.all([recording, cached.store(bytes)]);
      return { ...(await recording), bytes, cacheStatus: cached?.status };
    } finally {
      this.end();
    }
  }

  /**
   * Returns the answer once it has started. Errors: as for `plain`. If the answer breaks off, its parts end with an event that
   * reports it.
   */
  async stream(call: Call): Promise<ModelStream> {
    const startedAt = Date.now();
    this.open++;
    try {
      const answer = await this.recordingFailure(call, startedAt, () => this.targets.stream(call));
      return { parts: this.partsOf(call, answer, startedAt), cacheStatus: this.cache.bypassStatus(call) };
    } catch (error) {
      this.end();
      throw error;
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

  private async answerOf(call: Call): Promise<{ cached: CacheLookup | undefined; answer: TranslatedAnswer }> {
    const cached = await this.cache.lookUp(call);
    if (!cached?.body) return { cached, answer: await this.targets.plain(call) };
    // cached answers have the format of the client, and used no tokens
    const kind = call.format === 'messages' ? 'anthropic' : 'openai';
    const form = { format: call.format, kind, sender: NO_SENDER } as const;
    const answer = await this.targets.translated(call, cached.body, form, NOTHING);
    return { cached, answer: { ...answer, facts: { ...answer.facts, usage: NO_USAGE } } };
  }

  private async *partsOf(
    call: Call,
    { first, rest, translation }: StreamAnswer,
    startedAt: number,
  ): AsyncGenerator<Buffer, void, undefined> {
    const firstByteMs = Date.now() - startedAt;
    let isRecorded = false;
    const record = async (error: string | null): Promise<void> => {
      isRecorded = true;
      const outcome = { ...NO_OUTCOME, facts: translation.facts, error, firstByteMs };
      await this.recorder.record(call, outcome, startedAt, translation.length);
    };
    try {
      let last: Buffer;
      try {
        if (first.length > 0) yield first;
        last = yield* rest;
      } catch (error) {
        if (call.signal.aborted) throw error;
        this.noteFailure(call, error);
        await record(streamErrorType(error));
        // the stream then ends as usual, because some clients lose what they have not read when the connection breaks
        yield failureEvent(call.format, providerName(call), error);
        return;
      }
      if (translation.failure) this.noteFailure(call, translation.failure);
      else this.targets.answered(call);
      await record(translation.failure?.type ?? null);
      yield last;
    } finally {
      try {
        await rest.return(NOTHING);
      } finally {
        // the client has disconnected, but the tokens were used
        if (!isRecorded) {
          this.targets.undecided(call);
          await record('client_gone').finally(() => this.end());
        } else this.end();
      }
    }
  }

  private noteFailure(call: Call, error: unknown): void {
    if (error instanceof Problem) this.targets.undecided(call);
    else if (error instanceof StreamFailure && !isStreamFault(error, call.format))
      this.targets.answered(call);
    else this.targets.failed(call);
  }

  private async recordingFailure<Result>(
    call: Call,
    startedAt: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await work();
    } catch (failure) {
      const error = errorTypeOf(call, failure instanceof CallFailure ? failure.problem : failure);
      await this.recorder.record(call, { ...NO_OUTCOME, error }, startedAt, null);
      throw failure;
    }
  }
}

const NOTHING = Buffer.alloc(0);
const NO_SENDER = { name: '', apiKey: null };

/** Returns the error type of a failed call. 408 means that the client disconnected. A deadline is 504. */
function errorTypeOf({ signal }: Call, error: unknown): string {
  if (error instanceof Problem && error.status !== 408) return error.code;
  return signal.aborted ? 'client_gone' : 'internal_error';
}

const NO_OUTCOME: CallOutcome = { facts: NO_FACTS, error: null, isCached: false, firstByteMs: null };

const providerName = ({ progress }: Call): string => progress.target?.provider.name ?? '';

/** Tells whether the gateway has ended a stream, because its next part did not arrive in time. */
const isTimeout = (error: unknown): boolean => outboundFailure(error) === 'timeout';

/** Returns the error type of a stream that broke off. */
function streamErrorType(error: unknown): string {
  if (error instanceof StreamFailure) return error.type;
  if (error instanceof Problem) return error.code;
  return isTimeout(error) ? 'request_timeout' : 'connection_error';
}

/** Returns the event that reports a broken stream to the client, in the client's format. */
function failureEvent(format: CallFormat, name: string, error: unknown): Buffer {
  if (error instanceof Problem) {
    const message = `The gateway ended its response early: ${error.detail}`;
    return errorEvent(format, { message, type: 'overloaded_error', code: error.code, param: null });
  }
  const isLate = isTimeout(error);
  const reason = error instanceof StreamFailure ? error.message : 'The connection broke.';
  const message = isLate
    ? `The gateway ended its response early, because the provider ${name} stopped sending.`
    : `The provider ${name} ended its response early: ${reason}`;
  const unreported = isLate ? 'timeout_error' : 'api_error';
  const type = error instanceof StreamFailure ? error.type : unreported;
  const code = isLate ? 'request_timeout' : 'service_unavailable';
  return errorEvent(format, { message, type, code, param: null });
}

function errorEvent(format: CallFormat, failure: { message: string; type: string } & JsonObject): Buffer {
  const { message, type } = failure;
  switch (format) {
    case 'messages':
      return event({ type: 'error', error: { type, message } }, 'error');
    case 'responses':
      // OpenAI's client reads `error`, and its documentation has the other members
      return event({ ...failure, type: 'error', error: failure }, 'error');
    default:
      return event({ error: failure });
  }
}

const event = (data: object, name?: string): Buffer => Buffer.from(formatSse(JSON.stringify(data), name));
