import { Injectable } from '@nestjs/common';
import { backOffMs, type ByteLease, linkedSignal, pause } from '#platform/concurrency';
import { BodyBudgets, MEMORY_BUDGET } from '#platform/http';
import { randomHex } from '#platform/ids';
import { Problem, problem } from '#platform/problem';
import { type CalledModel, type CalledProvider, ModelDirectory } from '../models/model-directory';
import { parsedObject } from '../formats/json-shape';
import { checkAnswer, usageOf } from './answer-translation';
import { type CallFormat, newProgress, type Recorded, WIRE_PATHS } from './call.types';
import { CallBudgets, isReserved, RESERVED_SECONDS } from './call-budgets';
import { CallFailure, lostUsageOf, timeoutFailure, unusableAnswer } from './call-failure';
import type { InstalledModel } from './installed-models';
import { type LearnedLimit, LearnedLimits, type LimitedWork, type RequestOutcome } from './learned-limit';
import { ModelCaller } from './model-caller';
import { isCostlyInternally, ParsingTurns } from './parsing-turns';
import { ProviderClient, type ProviderRequest } from './provider-client';
import { boundOf, completedUsage, mostTokens, UNKNOWN_LIMITS } from './request-bound';
import { inspect } from './request-translation';

/** Prefix of a model of the gateway in settings and scorers. */
export const GATEWAY_PREFIX = 'gateway:';

/**
 * Settings that override the model's for internal calls. Their callers retry on their own, and every sample of a judge must be a
 * new answer. They record no spans, because a rule that judges new traces would judge the trace of its own judge, without end.
 */
const INTERNAL_SETTINGS = { retries: 0, cache_ttl_seconds: null, record_spans: false } as const;

/** Failures of one call after which its retries end, not counting rate limits. */
const FAILURES_MAX = 6;

/** A call that the service makes itself. */
export interface InternalCall {
  /** The id of a model of the gateway, whose budgets apply and whose usage is recorded, or a model of the operator. */
  model: string | InstalledModel;
  format: CallFormat;
  /** The JSON body. The operator's models receive it as it is, and models of the gateway with another `model`. */
  body: string;
  /** The principal for which the usage is recorded, such as `judges`. */
  principalId: string;
  /** Maximum time from the request to the end of its answer, in milliseconds. */
  timeoutMs: number;
  /** Maximum size of the answer, in bytes. */
  maxBytes: number;
  signal: AbortSignal;
  /** The organization whose memory holds the answer of a model of the operator. Default: the service itself. */
  orgId?: string;
  /** Called for each request without a usable answer that may be charged. The cost of a model of the operator is null. */
  onLost?: (lost: Recorded) => void;
}

export interface InternalAnswer {
  /** The JSON of the answer. */
  value: unknown;
  /** The provider that answered. */
  provider: CalledProvider;
  /** The model at the provider. Undefined for a model of the operator, which the body names. */
  upstreamModel: string | undefined;
  /** The cost that the gateway has recorded, in US dollars. Null if it is unknown. */
  costUsd: number | null;
}

/** The work that a call with retries belongs to. */
export interface RetriedWork extends LimitedWork {
  /** Returns the time until the deadline of the work, in milliseconds. */
  remainingMs(): number;
  /** Lets other work run while this work waits for a retry. The signal ends the wait. */
  lendSlot<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** Observes each request of a call with retries. */
export interface RequestObserver {
  /** If it throws, the request is not sent. */
  before(): void;
  /** @param result undefined if the request was aborted */
  after(result: InternalAnswer | CallFailure | undefined, outcome: RequestOutcome, elapsedMs: number): void;
}

/** Calls models for other parts of the service: models of the gateway, and those that the operator configured. */
@Injectable()
export class InternalCalls {
  constructor(
    private readonly models: ModelDirectory,
    private readonly budgets: CallBudgets,
    private readonly caller: ModelCaller,
    private readonly client: ProviderClient,
    private readonly limits: LearnedLimits,
    private readonly memory: BodyBudgets,
    private readonly turns: ParsingTurns,
  ) {}

  /** Returns a live model of a workspace by its name or id, or undefined. */
  findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | undefined> {
    return this.models.findIn(workspaceId, nameOrId);
  }

  /** Returns the cost of a model's tokens in US dollars, at the price of its first target, or null if the price is unknown. */
  costOf(model: CalledModel, inputTokens: number | null, outputTokens: number | null): number | null {
    return this.budgets.costOf(model, inputTokens, outputTokens);
  }

  /** Calls a model once, or once for each of its targets. Throws `CallFailure`, or the reason of the signal. */
  async call(call: InternalCall): Promise<InternalAnswer> {
    try {
      return await (typeof call.model === 'string'
        ? this.callModel(call, call.model)
        : this.callInstalled(call, call.model));
    } catch (error) {
      call.signal.throwIfAborted();
      if (!(error instanceof Problem)) throw error;
      if (isReserved(error)) {
        const retryAfterMs = RESERVED_SECONDS * 1000;
        throw new CallFailure('rate_limited', 'cannot be called', error, { retryAfterMs });
      }
      throw new CallFailure(error.status < 500 ? 'refused' : 'failed', 'cannot be called', error);
    }
  }

  /**
   * Calls a model with retries and back-off: after a rate limit until the deadline of the work, after other failures a few times.
   * Keeps to the rate limit that the service has learned. Errors: as for `call`.
   *
   * @param limitName identifies the model's rate limit
   */
  async callWithRetries(
    call: InternalCall,
    limitName: string,
    work: RetriedWork,
    observer: RequestObserver,
  ): Promise<InternalAnswer> {
    const limit = this.limits.of(limitName);
    let failures = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.acquire(work);
      work.hasStarted = true;
      const result = await this.attempt(call, limit, observer);
      if (!(result instanceof CallFailure)) return result;
      if (outcomeOf(result) === 'refused') throw result;
      if (result.reason !== 'rate_limited') failures++;
      const waitMs = backOffMs(attempt, { retryAfterMs: result.details.retryAfterMs });
      if (failures >= FAILURES_MAX) result.conclusion = `Gave up after ${attempt} attempts.`;
      else if (waitMs >= work.remainingMs()) result.conclusion = 'There was no time left for a retry.';
      if (result.conclusion !== '') throw result;
      await work.lendSlot((signal) => pause(waitMs, signal));
    }
  }

  private async attempt(
    call: InternalCall,
    limit: LearnedLimit,
    observer: RequestObserver,
  ): Promise<InternalAnswer | CallFailure> {
    const startedAt = performance.now();
    let result: InternalAnswer | CallFailure | undefined;
    try {
      observer.before();
      return (result = await this.call(call));
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return (result = error);
    } finally {
      const elapsedMs = performance.now() - startedAt;
      const outcome = outcomeOf(result);
      const retryAfterMs = result instanceof CallFailure ? result.details.retryAfterMs : undefined;
      limit.release({ outcome, elapsedMs, retryAfterMs });
      observer.after(result, outcome, elapsedMs);
    }
  }

  private async callInstalled(
    call: InternalCall,
    { provider, format }: InstalledModel,
  ): Promise<InternalAnswer> {
    const { body, timeoutMs, signal, maxBytes } = call;
    const path = format === null ? '' : WIRE_PATHS[format];
    const request: ProviderRequest = {
      ...{ provider, path, body, headers: {}, traceparent: undefined, timeoutMs, signal },
    };
    signal.throwIfAborted();
    const lease = this.leaseOf(call.orgId ?? '');
    try {
      const bytes = await this.client.whole(request, maxBytes, lease);
      const apiKey = provider.apiKey();
      const text = bytes.toString();
      // some servers repeat the API key in their answers
      const value = parsed(apiKey === null ? text : text.replaceAll(apiKey, '…'));
      const usage = usageOf(value, call.format);
      if (value === undefined) throw unusableAnswer(provider.name, 'did not return JSON', usage);
      if (format !== null) checkAnswer(value, format, { name: provider.name, apiKey }, usage);
      return { value, provider, upstreamModel: undefined, costUsd: null };
    } catch (error) {
      const reported = request.isSent ? lostUsageOf(error) : undefined;
      if (reported && call.onLost) {
        const bound = boundOf(parsedObject(body) ?? {}, Buffer.byteLength(body), call.format);
        call.onLost({ usage: completedUsage(reported, mostTokens(bound, UNKNOWN_LIMITS)), costUsd: null });
      }
      throw error;
    } finally {
      lease.release();
    }
  }

  /** Returns the memory for an answer, until it is released. */
  private leaseOf(orgId: string): ByteLease {
    return this.memory.of(MEMORY_BUDGET).acquire(orgId);
  }

  private async callModel(call: InternalCall, modelId: string): Promise<InternalAnswer> {
    const requested = await this.models.findById(modelId);
    if (!requested) throw new Problem('not_found', `There is no model ${modelId}, or it was archived.`);
    if (requested.is_workspace_archived)
      throw problem.conflict('The workspace of the model is archived. Restore it to call the model.');
    const lease = this.leaseOf(requested.org_id);
    try {
      return await this.callLeased(call, requested, lease);
    } finally {
      lease.release();
    }
  }

  private async callLeased(
    call: InternalCall,
    requested: CalledModel,
    lease: ByteLease,
  ): Promise<InternalAnswer> {
    const body = Buffer.from(call.body);
    const facts = inspect(body, call.format);
    const { model, reservation } = await this.budgets.allow({
      model: requested,
      format: call.format,
      facts,
      limits: null,
    });
    const progress = newProgress();
    const ended: { recorded?: Recorded } = {};
    const late = new AbortController();
    const timer = setTimeout(() => {
      const name = progress.target?.provider.name ?? model.name;
      late.abort(timeoutFailure(name, call.timeoutMs));
    }, call.timeoutMs);
    const stop = linkedSignal(call.signal, late.signal);
    try {
      const { bytes, costUsd } = await this.caller.plain({
        caller: { orgId: model.org_id, principalId: call.principalId, serviceAccountId: null },
        model: { ...model, ...INTERNAL_SETTINGS },
        format: call.format,
        body,
        facts: { ...facts, isStream: false },
        reservation,
        headers: {},
        span: { traceId: randomHex(16), spanId: randomHex(8), parentSpanId: null },
        signal: stop.signal,
        lease,
        maxBytes: call.maxBytes,
        onRecorded: (recorded) => {
          reservation.release(recorded.costUsd ?? 0);
          ended.recorded = recorded;
        },
        progress,
      });
      const { provider, upstream_model: upstreamModel } = progress.target!; // its answer is not from the cache
      const parse = (): unknown => (isCostlyInternally(bytes) ? undefined : parsed(bytes.toString()));
      const value = await this.turns.run(model.org_id, stop.signal, bytes.length, parse);
      if (value === undefined) throw unusableAnswer(provider.name, 'did not return JSON of usual size');
      return { value, provider, upstreamModel, costUsd };
    } catch (error) {
      if (ended.recorded) call.onLost?.(ended.recorded);
      throw error;
    } finally {
      clearTimeout(timer);
      stop.unlink();
    }
  }
}

/** Returns the outcome of a request for the rate limit of its model. */
function outcomeOf(result: InternalAnswer | CallFailure | undefined): RequestOutcome {
  if (!(result instanceof CallFailure)) return result ? 'answered' : 'failed';
  switch (result.reason) {
    case 'rate_limited':
      return 'limited';
    case 'failed':
    case 'timeout':
      return 'failed';
    default:
      return 'refused';
  }
}

/** Parses JSON. Returns undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
