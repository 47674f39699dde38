import { Injectable } from '@nestjs/common';
import { randomHex } from '#platform/ids';
import { problem } from '#platform/problem';
import { type CalledModel, ModelDirectory } from '../models/model-directory';
import { Budgets } from '../spending/budgets';
import type { CallFormat } from './call-format';
import { type ModelAnswer, ModelCaller } from './model-caller';
import { Shaper } from './shaper';

/** Prefix of a model of the gateway in settings and scorers. */
export const GATEWAY_PREFIX = 'gateway:';

/**
 * Settings that override the model's for internal calls. Their callers retry on their own, and every sample of a judge must be a
 * new answer. They record no spans, because a rule that judges new traces would judge the trace of its own judge, without end.
 */
const INTERNAL_SETTINGS = { retries: 0, cache_ttl_seconds: null, record_spans: false } as const;

/** A call that the service makes itself. */
export interface InternalCall {
  model: CalledModel;
  format: CallFormat;
  /** The JSON body. Its `model` is ignored. */
  body: string;
  /** The principal for which the usage is recorded, such as `judges`. */
  principalId: string;
  signal: AbortSignal;
}

/** Calls models for other parts of the service. Budgets apply, and usage is recorded. */
@Injectable()
export class InternalCalls {
  constructor(
    private readonly models: ModelDirectory,
    private readonly budgets: Budgets,
    private readonly shaper: Shaper,
    private readonly caller: ModelCaller,
  ) {}

  /** Returns a live model of a workspace by its name or id, or null. */
  async findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | null> {
    return (await this.models.findIn(workspaceId, nameOrId)) ?? null;
  }

  /** Returns a live model by its id, or null. */
  async findById(modelId: string): Promise<CalledModel | null> {
    return (await this.models.findById(modelId)) ?? null;
  }

  /** Returns the cost of a model's tokens in US dollars, at the price of its first target, or null if the price is unknown. */
  costOf(model: CalledModel, inputTokens: number | null, outputTokens: number | null): number | null {
    return this.budgets.costOf(model, inputTokens, outputTokens);
  }

  /** Calls a model, without the model's retries, because the caller has its own. Errors: as for calls over HTTP. */
  async call({ model: requested, format, body, principalId, signal }: InternalCall): Promise<ModelAnswer> {
    if (requested.is_workspace_archived)
      throw problem.conflict('The workspace of the model is archived. Restore it to call the model.');
    const bytes = Buffer.from(body);
    const owner = { orgId: requested.org_id, workspaceId: requested.workspace_id };
    const inspected = await this.shaper.inspect(owner, signal, bytes);
    if ('fault' in inspected) throw problem.invalidFields([inspected.fault]);
    const { facts } = inspected;
    const { model, release } = await this.budgets.allow({
      model: requested,
      requestBytes: bytes.length,
      maxTokens: facts.maxTokens,
      limits: null,
    });
    return this.caller.plain({
      caller: { orgId: requested.org_id, principalId, serviceAccountId: null },
      model: { ...model, ...INTERNAL_SETTINGS },
      format,
      body: bytes,
      facts: { ...facts, isStream: false },
      headers: {},
      span: { traceId: randomHex(16), spanId: randomHex(8), parentSpanId: null },
      signal,
      owner,
      lease: undefined,
      onRecorded: release,
    });
  }
}
