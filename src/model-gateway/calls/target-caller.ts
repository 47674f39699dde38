import { Injectable } from '@nestjs/common';
import { backOffMs, pause } from '#platform/concurrency';
import { readCapped } from '#platform/outbound';
import { Problem, problem } from '#platform/problem';
import { SseReader, SseTooLarge } from '../formats/sse';
import { StreamFailure } from '../formats/stream-failure';
import type { CalledTarget } from '../models/model-directory';
import type { AnswerFacts } from './answer-shapes';
import type { Call } from './call.types';
import { Attempt } from './attempt';
import { CallFailure } from './call-failure';
import { wireFormatOf } from './call-format';
import { ProviderClient, type ProviderRequest, type ProviderResponse } from './provider-client';
import {
  connectionFailure,
  errorResponse,
  firstEventFailure,
  isErrorBody,
  sanitizedFailure,
  targetUnavailable,
  timeoutFailure,
  unusableAnswer,
} from './provider-failures';
import { Shaper } from './shaper';
import { type StreamShape, streamShapeOf } from './stream-shapes';
import { targetOrder } from './target-order';

/** Maximum size of an event of a stream, in bytes. */
const EVENT_MAX = 4 * 1024 * 1024;
/** Maximum size of an error that is sent instead of a stream, in bytes. */
const ERROR_MAX = 64 * 1024;
/** Maximum bytes to read after the last event of a stream, and maximum time to read them, in milliseconds. */
const REST_MAX = 4 * 1024;
const REST_MS = 1_000;
/** Maximum wait before a retry of the same target. If the target asks for a longer wait, the next target is called. */
const WAIT_MAX_MS = 10_000;

/** The answer of one target. */
export interface Answered<Answer> {
  answer: Answer;
  target: CalledTarget;
  attempts: number;
}

export interface PlainAnswer {
  bytes: Uint8Array;
  facts: AnswerFacts;
}

/** A stream whose first bytes for the client have arrived. */
export interface StreamAnswer {
  first: Buffer;
  /** The following bytes for the client, as they arrive, except those of `shape.end()`. Throws if the stream breaks off. */
  rest: AsyncGenerator<Buffer, void, undefined>;
  shape: StreamShape;
}

/** A call that no target answered. */
export class UnansweredCall extends Error {
  constructor(
    readonly problem: Problem,
    readonly target: CalledTarget | null,
    readonly attempts: number,
  ) {
    super(problem.detail, { cause: problem });
  }
}

/** A call that ended after it was sent: the client disconnected, it took too long, or the service could not read the answer. */
export class InterruptedCall extends Error {
  constructor(
    readonly reason: unknown,
    readonly target: CalledTarget,
    readonly attempts: number,
  ) {
    super('interrupted', { cause: reason });
  }
}

/** Calls the targets of a model until one answers. Once a byte has been sent to the client, no other target is called. */
@Injectable()
export class TargetCaller {
  constructor(
    private readonly client: ProviderClient,
    private readonly shaper: Shaper,
  ) {}

  /** Returns the whole answer. Throws `UnansweredCall` or `InterruptedCall`. */
  plain(call: Call): Promise<Answered<PlainAnswer>> {
    return this.tryTargets(call, (target, attempt) => this.plainOf(call, target, attempt));
  }

  /** Returns the answer once it has started. Throws `UnansweredCall` or `InterruptedCall`. */
  stream(call: Call): Promise<Answered<StreamAnswer>> {
    return this.tryTargets(call, (target, attempt) => this.streamOf(call, target, attempt));
  }

  private async tryTargets<Answer>(
    call: Call,
    work: (target: CalledTarget, attempt: Attempt) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const { signal, model, lease } = call;
    const leasedBytes = lease?.bytes ?? 0;
    let attempts = 0;
    let last: { problem: Problem; target: CalledTarget } | undefined;
    for (const target of targetOrder(model)) {
      for (let tries = 1; ; tries++) {
        attempts++;
        signal.throwIfAborted();
        const attempt = new Attempt(signal);
        try {
          return { answer: await work(target, attempt), target, attempts };
        } catch (error) {
          attempt.release();
          lease?.tryResize(leasedBytes);
          if (!(error instanceof CallFailure)) {
            throw attempt.isSent ? new InterruptedCall(error, target, attempts) : error;
          }
          last = { problem: error.problem, target };
          if (!error.allowsFallback) throw new UnansweredCall(error.problem, target, attempts);
          const waitMs = backOffMs(tries, { retryAfterMs: error.retryAfterMs });
          if (!error.isRetryable || tries > model.retries || waitMs > WAIT_MAX_MS) break;
          await pause(waitMs, signal);
        }
      }
    }
    throw new UnansweredCall(
      last?.problem ?? problem.unavailable('The model has no target that can be called. Add a target to it.'),
      last?.target ?? null,
      attempts,
    );
  }

  private async plainOf(call: Call, target: CalledTarget, attempt: Attempt): Promise<PlainAnswer> {
    const { name, kind } = target.provider;
    const bytes = await this.runAttempt(call, target, attempt, async () =>
      this.client.whole(await this.requestOf(call, target, attempt), call.lease),
    );
    attempt.release();
    const shaped = await this.shaper.answer(call.owner, call.signal, {
      bytes,
      format: call.format,
      kind,
      // only Response objects repeat the request
      request: call.format === 'responses' ? call.body : NOTHING,
    });
    if ('fault' in shaped) throw unusableAnswer(name, shaped.fault);
    return shaped;
  }

  private async streamOf(call: Call, target: CalledTarget, attempt: Attempt): Promise<StreamAnswer> {
    const { provider } = target;
    const { format, facts, body, model } = call;
    const shape = streamShapeOf({
      format,
      kind: provider.kind,
      includesUsage: facts.includesUsage,
      request: format === 'responses' ? body.toString() : '',
      keepsContent: model.capture_content && model.record_spans,
    });
    return this.runAttempt(call, target, attempt, async () => {
      const response = await this.client.stream(await this.requestOf(call, target, attempt));
      if (!/^text\/event-stream\b/i.test(response.contentType)) throw await this.unstreamedFailure(response);
      const rest = shapedParts(response, shape, attempt);
      const { value, done } = await rest.next();
      if (done) throw unusableAnswer(provider.name, 'closed the stream before its first event');
      return { first: value, rest, shape };
    });
  }

  /** Runs one attempt within its timeout, and turns its errors into call failures. */
  private async runAttempt<Result>(
    { signal, model }: Call,
    { provider }: CalledTarget,
    attempt: Attempt,
    work: () => Promise<Result>,
  ): Promise<Result> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      attempt.stop(new Error('the attempt timed out'));
    }, model.timeout_ms);
    try {
      return await new Promise<Result>((resolve, reject) => {
        // rejects even while the attempt waits for a connection, which cannot be aborted
        attempt.onStop(reject);
        work().then(resolve, reject);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (isLate) throw timeoutFailure(provider.name);
      if (error instanceof CallFailure || error instanceof Problem) throw error;
      if (error instanceof StreamFailure) throw firstEventFailure(provider.name, error);
      throw connectionFailure({ name: provider.name, apiKey: null }, error);
    } finally {
      clearTimeout(timer);
    }
  }

  private async requestOf(call: Call, target: CalledTarget, attempt: Attempt): Promise<ProviderRequest> {
    const { provider, upstream_model } = target;
    if (provider.is_archived) throw targetUnavailable(`The provider ${provider.name} is archived.`);
    const wire = wireFormatOf(provider.kind, call.format);
    if (!wire) throw unsupportedFormat(provider.name, call);
    const { isStream } = call.facts;
    const shape = { format: call.format, kind: provider.kind, model: upstream_model, isStream };
    const shaped = await this.shaper.shape(call.owner, call.signal, call.body, shape);
    if ('fault' in shaped) throw new CallFailure(problem.invalidFields([shaped.fault]), false, true);
    // the lease covers these bytes until the response has ended
    call.lease?.grow(shaped.bytes.length);
    const { traceId, spanId } = call.span;
    return {
      provider,
      wire,
      body: shaped.bytes,
      isStream,
      headers: wire === call.format ? call.headers : {},
      traceparent: `00-${traceId}-${spanId}-01`,
      timeoutMs: call.model.timeout_ms,
      attempt,
    };
  }

  /** Returns the failure for a response that is not a stream. It may be an error with status 200. */
  private async unstreamedFailure({ sender, body }: ProviderResponse): Promise<CallFailure> {
    const text = await readCapped(body, ERROR_MAX);
    return text !== undefined && isErrorBody(text)
      ? errorResponse(sender, 500, text, undefined)
      : unusableAnswer(sender.name, 'did not return an event stream');
  }
}

/** Yields the bytes for the client, for each chunk that arrives. Ends when the answer is complete. */
async function* shapedParts(
  { body, sender }: ProviderResponse,
  shape: StreamShape,
  attempt: Attempt,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* readParts(body, shape);
  } catch (error) {
    if (error instanceof StreamFailure) throw sanitizedFailure(error, sender);
    if (error instanceof SseTooLarge) throw new StreamFailure('api_error', error.message);
    throw error;
  } finally {
    attempt.release();
    // the body may still fail, although nobody reads it
    body.on('error', () => undefined);
    if (shape.isDone) readRest(body);
    else body.destroy();
  }
}

/** Reads the bytes after the last event, so that the connection can be reused. */
function readRest(body: ProviderResponse['body']): void {
  body.dump({ limit: REST_MAX, signal: AbortSignal.timeout(REST_MS) }).catch(() => undefined);
}

async function* readParts(
  body: ProviderResponse['body'],
  shape: StreamShape,
): AsyncGenerator<Buffer, void, undefined> {
  const reader = new SseReader(EVENT_MAX);
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    const parts: Buffer[] = [];
    for (const event of reader.push(chunk as Buffer)) {
      if (!shape.isDone) parts.push(shape.push(event));
    }
    const bytes = Buffer.concat(parts);
    if (bytes.length > 0) yield bytes;
    if (shape.isDone) return;
  }
  const last = Buffer.concat(reader.end().map((event) => shape.push(event)));
  if (last.length > 0) yield last;
  if (!shape.isDone)
    throw new StreamFailure('api_error', 'The provider closed the stream before the answer was complete.');
}

const NOTHING = Buffer.alloc(0);

const NOUNS = {
  chat: 'chat completions',
  responses: 'responses',
  embeddings: 'embeddings',
  messages: 'messages',
};

const unsupportedFormat = (name: string, { format }: Call): CallFailure =>
  new CallFailure(
    problem.invalidRequest(
      `The provider ${name} does not support ${NOUNS[format]}. Call a model with a target that supports them.`,
    ),
    false,
    true,
  );
