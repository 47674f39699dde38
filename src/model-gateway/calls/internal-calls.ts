import { Injectable } from '@nestjs/common';
import { randomHex } from '#platform/ids';
import { problem } from '#platform/problem';
import { type CalledModel, ModelDirectory } from '../models/model-directory';
import { Budgets } from '../spending/budgets';
import type { CallFormat } from './call-format';
import { type ModelAnswer, ModelCaller } from './model-caller';
import { Shaper } from './shaper';

/** The prefix of names by which settings and scorers mean models of the gateway. */
export const GATEWAY_PREFIX = 'gateway:';

/**
 * How calls of the service itself differ. They have retries of their own, and every sample of a judge must be a new answer. They
 * leave no spans: a rule that judges new traces would judge the trace of its own judge, and that of the next, without end.
 */
const OF_THE_SERVICE = { retries: 0, cache_ttl_seconds: null, record_spans: false } as const;

/** A call that the service makes itself. */
export interface InternalCall {
  model: CalledModel;
  format: CallFormat;
  /** The JSON body. Its `model` is ignored. */
  body: string;
  /** Under which name the usage is recorded, such as `judges`. */
  principalId: string;
  signal: AbortSignal;
}

/** Calls models of the gateway for other parts of the service, within budgets and with usage. */
@Injectable()
export class InternalCalls {
  constructor(
    private readonly models: ModelDirectory,
    private readonly budgets: Budgets,
    private readonly shaper: Shaper,
    private readonly caller: ModelCaller,
  ) {}

  /** Finds a live model of a workspace by its name or its id, or null. */
  async findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | null> {
    return (await this.models.findIn(workspaceId, nameOrId)) ?? null;
  }

  /** Finds a live model by its id, or null. */
  async findById(modelId: string): Promise<CalledModel | null> {
    return (await this.models.findById(modelId)) ?? null;
  }

  /** Returns the price of tokens of a model in US dollars, by its first target; null if it is unknown. */
  costOf(model: CalledModel, inputTokens: number | null, outputTokens: number | null): number | null {
    return this.budgets.costOf(model, inputTokens, outputTokens);
  }

  /** Calls a model, without the retries of the model: the caller has its own. Errors: as of calls over HTTP. */
  async call({ model: found, format, body, principalId, signal }: InternalCall): Promise<ModelAnswer> {
    if (found.is_workspace_archived) throw problem.conflict('The workspace of the model is archived.');
    const bytes = Buffer.from(body);
    const owner = { orgId: found.org_id, workspaceId: found.workspace_id };
    const inspected = await this.shaper.inspect(owner, signal, bytes);
    if ('fault' in inspected) throw problem.invalidFields([inspected.fault]);
    const { facts } = inspected;
    const { model, release } = await this.budgets.allow({
      model: found,
      requestBytes: bytes.length,
      maxTokens: facts.maxTokens,
      limits: null,
    });
    return this.caller.plain({
      caller: { orgId: found.org_id, principalId, serviceAccountId: null },
      model: { ...model, ...OF_THE_SERVICE },
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
