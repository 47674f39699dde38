import { Injectable } from '@nestjs/common';
import { backOffMs, pause } from '#platform/concurrency';
import { readCapped } from '#platform/outbound';
import { problem } from '#platform/problem';
import { JsonOutline } from '../formats/json-outline';
import { parsedObject } from '../formats/json-shape';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import {
  type AnswerForm,
  checkAnswer,
  isOutlined,
  translateAnswer,
  type TranslatedAnswer,
  usageOf,
} from './answer-translation';
import { CallFailure, isTargetFault, lostUsageOf, targetUnavailable, unusableAnswer } from './call-failure';
import { type Call, type CallFormat, WIRE_PATHS, wireFormatOf } from './call.types';
import { ParsingTurns } from './parsing-turns';
import { ProviderClient, type ProviderRequest, type ProviderResponse } from './provider-client';
import { echoOf, type RequestForm, translateRequest } from './request-translation';
import { StreamReader } from './stream-reader';
import { type StreamTranslation, streamTranslationOf } from './stream-translation';
import { TargetHealth } from './target-health';

/** Maximum size of an error that is sent instead of a stream, in bytes. */
const ERROR_MAX = 64 * 1024;
/** Bytes of a large answer that are read in one turn. */
const OUTLINED_BYTES = 256 * 1024;
/** Maximum wait before a retry of the same target. If the target asks for a longer wait, the next target is called. */
const WAIT_MAX_MS = 10_000;

/** A stream whose first bytes for the client have arrived. */
export interface StreamAnswer {
  first: Buffer;
  /** Yields the following bytes for the client, as they arrive, and returns the last ones. Throws if the stream breaks off. */
  rest: AsyncGenerator<Buffer, Buffer, undefined>;
  translation: StreamTranslation;
}

/**
 * Calls the targets of a model until one answers, and keeps the call's `progress`. Once a byte has been sent to the client, no
 * other target is called.
 */
@Injectable()
export class TargetCaller {
  constructor(
    private readonly client: ProviderClient,
    private readonly health: TargetHealth,
    private readonly turns: ParsingTurns,
    private readonly streams: StreamReader,
  ) {}

  /** Returns the whole answer. Throws `CallFailure`, a `Problem`, or the signal's reason. */
  plain(call: Call): Promise<TranslatedAnswer> {
    return this.tryTargets(call, async (request) => {
      const { name, kind, apiKey } = request.provider;
      const bytes = await this.client.whole(request, call.maxBytes, call.lease);
      const form = { format: call.format, kind, sender: { name, apiKey: apiKey() } };
      return this.translated(call, bytes, form, call.body);
    });
  }

  /** Returns what `translateAnswer` returns, without blocking the event loop. */
  translated(
    call: Call,
    bytes: Buffer,
    form: AnswerForm,
    request: Buffer,
  ): TranslatedAnswer | Promise<TranslatedAnswer> {
    const inTurn = (size: number, outline?: string): TranslatedAnswer | Promise<TranslatedAnswer> =>
      this.turns.run(call.caller.orgId, call.signal, size, () =>
        translateAnswer(bytes, form, request, outline),
      );
    if (!isOutlined(bytes, form)) return inTurn(bytes.length);
    return this.outlineOf(bytes, call).then((outline) => inTurn(outline.length, outline));
  }

  /** Returns the answer once it has started. Errors: as for `plain`. */
  stream(call: Call): Promise<StreamAnswer> {
    return this.tryTargets(call, (request) => {
      const { provider } = request;
      const { format, facts, body, model } = call;
      const wire = wireFormatOf(provider.kind, format)!;
      return this.client.stream(request, async (response) => {
        if (!/^text\/event-stream\b/i.test(response.contentType))
          throw await unstreamedFailure(response, wire);
        const isEchoed = format === 'responses' && wire !== format;
        const translation = streamTranslationOf({
          format,
          kind: provider.kind,
          includesUsage: facts.includesUsage,
          echo: isEchoed ? await this.inTurn(call, response.signal, () => echoOf(body)) : undefined,
          keepsContent: model.capture_content && model.record_spans,
        });
        const rest = this.streams.read(call, response, translation);
        const { value, done } = await rest.next();
        if (done) {
          throw (
            translation.failure ?? unusableAnswer(provider.name, 'closed the stream before its first event')
          );
        }
        return { first: value, rest, translation };
      });
    });
  }

  /** Notes that the last target works: it has sent its whole answer, or has rejected the request. */
  answered({ model, progress }: Call): void {
    progress.writes.push(this.health.answered(model, progress.target!));
  }

  /** Notes that the last attempt failed because of its target. */
  failed({ model, progress }: Call): void {
    progress.attempts.at(-1)!.isFailed = true;
    progress.writes.push(this.health.failed(model, progress.target!));
  }

  /** Notes that the last attempt has ended without showing whether its target works. */
  undecided({ model, progress }: Call): void {
    this.health.undecided(model, progress.target!);
  }

  /** Returns the request for a target. Throws `CallFailure` if the target cannot take it. */
  private translatedRequest(call: Call, target: CalledTarget): ProviderRequest | Promise<ProviderRequest> {
    const form = formOf(call, target);
    const text = this.inTurn(call, call.signal, () => translateRequest(call.body, form));
    return text instanceof Promise
      ? text.then((one) => requestOf(call, target, one))
      : requestOf(call, target, text);
  }

  /** Runs work on the client's request when its organization's turn comes. */
  private inTurn<Result>(
    { caller, body }: Call,
    signal: AbortSignal,
    work: () => Result,
  ): Result | Promise<Result> {
    return this.turns.run(caller.orgId, signal, body.length, work);
  }

  /** Returns the outline of a large answer. */
  private async outlineOf(bytes: Buffer, { caller, signal }: Call): Promise<string> {
    const outline = new JsonOutline();
    for (let at = 0; at < bytes.length; at += OUTLINED_BYTES) {
      const piece = bytes.subarray(at, at + OUTLINED_BYTES);
      await this.turns.run(caller.orgId, signal, piece.length, () => outline.write(piece));
    }
    return outline.text();
  }

  private async tryTargets<Answer>(
    call: Call,
    work: (request: ProviderRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const { signal, model, lease, progress, reservation, format } = call;
    const leasedBytes = lease?.bytes ?? 0;
    let failure: CallFailure | undefined;
    for (const target of this.health.order(model, targetOrder(model))) {
      for (let tries = 1; ; tries++) {
        signal.throwIfAborted();
        const isAllowed = reservation.next(target);
        if (isAllowed !== true && !(await isAllowed)) throw failure!;
        progress.target = target;
        progress.attempts.push({ target, startedAt: Date.now(), isFailed: false });
        this.health.begin(model, target);
        let request: ProviderRequest | undefined;
        try {
          const translated = this.translatedRequest(call, target);
          request = translated instanceof Promise ? await translated : translated;
          return await work(request);
        } catch (error) {
          lease?.tryResize(leasedBytes);
          const reported = request?.isSent ? lostUsageOf(error) : undefined;
          if (reported) {
            progress.lost.push({ target, reported });
            reservation.keep();
          }
          if (!(error instanceof CallFailure)) {
            this.undecided(call);
            throw error;
          }
          if (isTargetFault(error, format)) this.failed(call);
          else if (error.reason === 'rejected') this.answered(call);
          else this.undecided(call);
          if (error.reason === 'rejected') throw error;
          failure = error;
          const isRetryable = error.reason === 'failed' || error.reason === 'rate_limited';
          const waitMs = backOffMs(tries, { retryAfterMs: error.details.retryAfterMs });
          if (!isRetryable || tries > model.retries || waitMs > WAIT_MAX_MS) break;
          await pause(waitMs, signal);
        }
      }
    }
    throw failure!; // a model has at least one target
  }
}

/**
 * Returns the targets of a model in the order in which a call tries them: as listed, or for `weighted` in a random order, in
 * proportion to their weights.
 *
 * @param random returns a random number from 0 to 1
 */
export function targetOrder(
  { strategy, targets }: Pick<CalledModel, 'strategy' | 'targets'>,
  random: () => number = Math.random,
): readonly CalledTarget[] {
  if (strategy !== 'weighted') return targets;
  const remaining = [...targets];
  const order: CalledTarget[] = [];
  while (remaining.length > 0) {
    let point = random() * remaining.reduce((sum, { weight }) => sum + weight, 0);
    let index = remaining.findIndex(({ weight }) => (point -= weight) < 0);
    if (index < 0) index = remaining.length - 1;
    order.push(...remaining.splice(index, 1));
  }
  return order;
}

/** Returns the form in which a target takes the request. Throws `CallFailure` if it cannot take it. */
function formOf(call: Call, { provider, upstream_model: model }: CalledTarget): RequestForm {
  if (provider.is_erased) throw targetUnavailable(`The provider ${provider.name} was deleted.`);
  if (provider.is_archived) throw targetUnavailable(`The provider ${provider.name} is archived.`);
  const { format, facts } = call;
  if (!wireFormatOf(provider.kind, format)) throw unsupportedFormat(provider.name, call);
  return { format, kind: provider.kind, model, isStream: facts.isStream };
}

/** @param text the request in the form for the target */
function requestOf(call: Call, { provider }: CalledTarget, text: string): ProviderRequest {
  const { format, span } = call;
  const wire = wireFormatOf(provider.kind, format)!;
  const body = Buffer.from(text);
  // the lease covers these bytes until the response has ended
  call.lease?.grow(body.length);
  return {
    provider,
    path: WIRE_PATHS[wire],
    body,
    headers: wire === format ? call.headers : {},
    traceparent: `00-${span.traceId}-${span.spanId}-01`,
    timeoutMs: call.model.timeout_ms,
    signal: call.signal,
  };
}

const NOUNS = {
  chat: 'chat completions',
  responses: 'responses',
  embeddings: 'embeddings',
  messages: 'messages',
};

const unsupportedFormat = (name: string, { format }: Call): CallFailure =>
  new CallFailure(
    'refused',
    `does not support ${NOUNS[format]}`,
    problem.invalidRequest(
      `The provider ${name} does not support ${NOUNS[format]}. Call a model with a target that supports them.`,
    ),
  );

/** Returns the failure for a response that is not a stream. It may be an error with status 200. */
async function unstreamedFailure({ sender, body }: ProviderResponse, wire: CallFormat): Promise<CallFailure> {
  const text = await readCapped(body, ERROR_MAX);
  const answer = text === undefined ? undefined : parsedObject(text);
  const usage = usageOf(answer, wire);
  if (answer) checkAnswer(answer, wire, sender, usage);
  return unusableAnswer(sender.name, 'did not return an event stream', usage);
}
