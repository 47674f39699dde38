import { Injectable } from '@nestjs/common';
import { checkAllowed, type Member, type Role, rolesIn, WORKSPACE_HEADER } from '#platform/auth';
import type { ByteLease } from '#platform/concurrency';
import { randomHex } from '#platform/ids';
import { Reply, StreamedBody } from '#platform/http';
import { rootLogger } from '#platform/logging';
import { type Problem, problem } from '#platform/problem';
import { RateLimits } from '#platform/rate-limit';
import { type KeyLimits, KeyLimitsRepository } from '../keys/key-limits.repository';
import { type CalledModel, ModelDirectory } from '../models/model-directory';
import {
  type Call,
  type Caller,
  type CallFormat,
  type CallSpan,
  newProgress,
  type Recorded,
  type RequestFacts,
} from './call.types';
import { CallBudgets } from './call-budgets';
import { CallFailure } from './call-failure';
import { ModelCaller } from './model-caller';
import { ParsingTurns } from './parsing-turns';
import { inspect } from './request-translation';
import { TokenCounter } from './token-counter';

/** Maximum size of an answer, in bytes. */
const ANSWER_MAX = 64 * 1024 * 1024;

/** The roles that may call models. */
export const CALLING_ROLES: readonly [Role, Role] = ['editor', 'runtime'];

/** A request to call a model. */
export interface GatewayRequest {
  principal: Member;
  /** The workspace that the request names, which the principal has access to. */
  workspaceId: string | undefined;
  format: CallFormat;
  body: Buffer;
  /** Headers that belong to the format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  /** The span of the caller, if it sent one. */
  parent: { traceId: string; spanId: string } | undefined;
  /** The trace of the request. */
  traceId: string;
  signal: AbortSignal;
  lease: ByteLease | undefined;
}

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache',
  // otherwise, proxies such as nginx buffer the events
  'X-Accel-Buffering': 'no',
};

/** Handles model calls over HTTP. */
@Injectable()
export class GatewayService {
  constructor(
    private readonly models: ModelDirectory,
    private readonly keys: KeyLimitsRepository,
    private readonly rates: RateLimits,
    private readonly budgets: CallBudgets,
    private readonly caller: ModelCaller,
    private readonly tokens: TokenCounter,
    private readonly turns: ParsingTurns,
  ) {}

  /**
   * Calls a model. Errors: 400 for a malformed request, 404 for an unknown model, 403, 409 for an archived workspace, 429 for an
   * exhausted limit or budget, and the errors of the provider (see `CallFailure`).
   */
  async call(request: GatewayRequest): Promise<Reply> {
    const { body, format, signal } = request;
    const facts = await this.inspected(request);
    const caller = callerOf(request.principal);
    const { model: requested, limits } = await this.admitted(caller, request, facts.model);
    const { model, reservation } = await this.budgets.allow({
      model: requested,
      format,
      facts,
      limits,
    });
    const call: Call = {
      caller,
      model,
      format,
      body,
      facts,
      reservation,
      headers: request.headers,
      span: newSpan(request),
      signal,
      lease: request.lease,
      maxBytes: ANSWER_MAX,
      onRecorded: (recorded) => {
        reservation.release(recorded.costUsd ?? 0);
        if (limits) this.countUsed(limits, recorded).catch(logUncounted);
      },
      progress: newProgress(),
    };
    try {
      return await (facts.isStream ? this.stream(call) : this.plain(call));
    } catch (error) {
      throw error instanceof CallFailure ? error.problem : error;
    }
  }

  /** Counts the input tokens of a Messages request. Errors: as for `call`, but budgets do not apply. */
  async countTokens(request: GatewayRequest): Promise<Reply> {
    const { body, headers, signal, lease } = request;
    const caller = callerOf(request.principal);
    const { model } = await this.admitted(caller, request, (await this.inspected(request)).model);
    const { traceId, spanId } = newSpan(request);
    const traceparent = `00-${traceId}-${spanId}-01`;
    const bytes = await this.tokens.count({ model, body, headers, traceparent, signal, lease });
    return new Reply(200, bytes, { 'Content-Type': 'application/json' });
  }

  /** Reads the facts of a request in the turn of its organization. */
  private inspected({
    principal,
    body,
    format,
    signal,
  }: GatewayRequest): RequestFacts | Promise<RequestFacts> {
    return this.turns.run(principal.orgId, signal, body.length, () => inspect(body, format));
  }

  /** Returns the requested model and the limits of the key, and counts the request. Errors: 400, 403, 404, 409, 429. */
  private async admitted(
    { serviceAccountId }: Caller,
    { principal, workspaceId }: GatewayRequest,
    name: string,
  ): Promise<{ model: CalledModel; limits: KeyLimits | null }> {
    const limits = serviceAccountId === null ? null : await this.keys.find(serviceAccountId);
    const model = await this.find(principal, workspaceId ?? limits?.workspace_id, name);
    if (limits) await this.admit(limits);
    return { model, limits };
  }

  private async plain(call: Call): Promise<Reply> {
    const { bytes, cacheStatus } = await this.caller.plain(call);
    return new Reply(200, bytes, { 'Content-Type': 'application/json', ...headersOf(call, cacheStatus) });
  }

  private async stream(call: Call): Promise<Reply> {
    const { parts, cacheStatus } = await this.caller.stream(call);
    const headers = { ...STREAM_HEADERS, ...headersOf(call, cacheStatus) };
    return new Reply(200, await StreamedBody.begin(parts), headers);
  }

  /** Counts a request of a key. Errors: 429 if the requests or tokens of this minute are used up. */
  private async admit(limits: KeyLimits): Promise<void> {
    const { service_account_id: key, requests_per_minute, tokens_per_minute } = limits;
    if (tokens_per_minute !== null) {
      const seconds = await this.rates.checkOwn({ name: TOKENS, key, perMinute: tokens_per_minute }, 0);
      if (seconds !== null) throw keyLimitExceeded(`${tokens_per_minute} tokens`, seconds);
    }
    if (requests_per_minute !== null) {
      const seconds = await this.rates.checkOwn({ name: REQUESTS, key, perMinute: requests_per_minute });
      if (seconds !== null) throw keyLimitExceeded(`${requests_per_minute} requests`, seconds);
    }
  }

  /** Counts the tokens of a call that has ended. Concurrent calls can therefore exceed the limit. */
  private async countUsed(limits: KeyLimits, { usage }: Recorded): Promise<void> {
    const { service_account_id: key, tokens_per_minute } = limits;
    const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    if (tokens_per_minute === null || tokens === 0) return;
    await this.rates.checkOwn({ name: TOKENS, key, perMinute: tokens_per_minute }, tokens);
  }

  /**
   * Returns the requested model. Errors: 404, 400 for a name that several models have, 403, 409.
   *
   * @param workspaceId the only workspace in which a name is looked up. Undefined for all workspaces of the caller
   */
  private async find(
    principal: Member,
    workspaceId: string | undefined,
    nameOrId: string,
  ): Promise<CalledModel> {
    const { orgId } = principal;
    const all = this.models.getCached(orgId, nameOrId) ?? (await this.models.find(orgId, nameOrId));
    const visible = all.filter(
      ({ workspace_id, model_id }) =>
        (workspaceId === undefined || workspace_id === workspaceId || model_id === nameOrId) &&
        rolesIn(principal, workspace_id).size > 0,
    );
    const callable = visible.filter(({ workspace_id }) => mayCall(principal, workspace_id));
    if (visible.length > 0 && callable.length === 0) {
      throw problem.accessDenied(
        `Requires the role ${CALLING_ROLES.join(' or ')} in the workspace of the model.`,
      );
    }
    const live = callable.filter(({ is_workspace_archived }) => !is_workspace_archived);
    // a model in an archived workspace must not keep others from calling one of the same name
    const candidates = live.length > 0 ? live : callable;
    const [model, other] = candidates;
    if (!model) throw notFound(nameOrId, workspaceId);
    if (other) throw ambiguous(nameOrId, candidates);
    checkAllowed(principal.allow, 'models', model.model_id, model.name);
    if (model.is_workspace_archived)
      throw problem.conflict('The workspace of the model is archived. Restore it to call the model.');
    return model;
  }
}

const mayCall = (principal: Member, workspaceId: string): boolean => {
  const roles = rolesIn(principal, workspaceId);
  return CALLING_ROLES.some((role) => roles.has(role));
};

const callerOf = ({ orgId, id, type }: Member): Caller => ({
  orgId,
  principalId: id,
  serviceAccountId: type === 'service_account' ? id : null,
});

const newSpan = ({ parent, traceId }: GatewayRequest): CallSpan => ({
  traceId: parent?.traceId ?? traceId,
  spanId: randomHex(8),
  parentSpanId: parent?.spanId ?? null,
});

const REQUESTS = 'gateway_requests';
const TOKENS = 'gateway_tokens';

const keyLimitExceeded = (amount: string, seconds: number): Problem =>
  problem.rateLimited(`This key may use ${amount} per minute. Try again in ${seconds} s.`, seconds);

const logUncounted = (err: unknown): void =>
  rootLogger.warn({ err }, 'the tokens of a gateway key could not be counted');

const headersOf = ({ span }: Call, cacheStatus: string | undefined): Record<string, string> => ({
  traceresponse: `00-${span.traceId}-${span.spanId}-01`,
  ...(cacheStatus !== undefined && { 'Cache-Status': cacheStatus }),
});

function notFound(nameOrId: string, workspaceId: string | undefined): Problem {
  const elsewhere =
    workspaceId === undefined
      ? ''
      : ` Names are looked up only in the workspace ${workspaceId}. Send the id of a model of another workspace.`;
  return problem.notFound(
    'model',
    nameOrId,
    `GET /model/v1/models lists the models that you can call.${elsewhere}`,
  );
}

function ambiguous(name: string, models: readonly CalledModel[]): Problem {
  const ids = models
    .map(({ model_id, workspace_id }) => `${model_id} (workspace ${workspace_id})`)
    .join(', ');
  const detail = `names several models that you can call. Send the id of one instead, or its workspace in ${WORKSPACE_HEADER}: ${ids}`;
  return problem.invalidFields([{ pointer: '/model', detail: `${JSON.stringify(name)} ${detail}` }]);
}
