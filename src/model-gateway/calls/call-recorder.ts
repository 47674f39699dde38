import { Injectable } from '@nestjs/common';
import { ModelPrices } from '../../telemetry';
import { NO_USAGE, sumOfUsage, type Usage } from '../formats/usage';
import { NO_COUNTS, type UsageRow } from '../usage/usage.repository';
import { UsageWriter } from '../usage/usage.writer';
import { costOfCall, mostUsage } from './call-budgets';
import type { Call, CallOutcome, Recorded } from './call.types';
import { GatewayMetrics } from './gateway.metrics';
import { completedUsage } from './request-bound';
import { ParsingTurns } from './parsing-turns';
import { CONTENT_MAX, type EndedCall, spanOf, SpanWriter } from './span.writer';

/** Approximate bytes per token. */
const BYTES_PER_TOKEN = 4;
/** Tokens that a model may generate without showing them: faster than the models whose tokens are expensive. */
const HIDDEN_TOKENS_PER_SECOND = 200;

/** Records calls: their usage, cost and span. */
@Injectable()
export class CallRecorder {
  constructor(
    private readonly prices: ModelPrices,
    private readonly usage: UsageWriter,
    private readonly spans: SpanWriter,
    private readonly metrics: GatewayMetrics,
    private readonly turns: ParsingTurns,
  ) {}

  /**
   * Records a call, with its lost answers. Resolves when the record is committed and can be read. Always calls
   * `call.onRecorded`, even if it fails.
   *
   * @param startedAt milliseconds since 1970
   * @param answeredLength characters of the answer, to estimate tokens from if the usage is incomplete; null without an answer
   */
  async record(
    call: Call,
    outcome: CallOutcome,
    startedAt: number,
    answeredLength: number | null,
  ): Promise<Recorded> {
    const { facts, isCached, error } = outcome;
    const { target, lost } = call.progress;
    const { inputTokens, outputTokens } = facts.usage;
    // an answer that broke off may have reported only the usage at its start
    const isIncomplete = error !== null && (!facts.isUsageFinal || outputTokens === null);
    const isEstimated = answeredLength !== null && (inputTokens === null || isIncomplete);
    const answered = isEstimated ? this.estimate(call, outcome, answeredLength) : facts.usage;
    const isFree = isCached || !target || (error !== null && answeredLength === null);
    const answeredUsd = isFree ? 0 : costOfCall(target, answered, this.prices);
    const recorded: Recorded = { usage: answered, costUsd: answeredUsd };
    let isAnyEstimated = isEstimated;
    let estimatedUsd = isEstimated ? (answeredUsd ?? 0) : 0;
    for (const { target: one, reported } of lost) {
      const usage = completedUsage(reported, mostUsage(one, call.format, call.facts.bound, this.prices));
      const usd = costOfCall(one, usage, this.prices);
      recorded.usage = sumOfUsage(recorded.usage, usage);
      recorded.costUsd = sumOrNull(recorded.costUsd, usd);
      if (reported.inputTokens !== null && reported.outputTokens !== null) continue;
      isAnyEstimated = true;
      estimatedUsd += usd ?? 0;
    }
    const ended: EndedCall = {
      usage: recorded.usage,
      costUsd: recorded.costUsd,
      call,
      outcome,
      isEstimated: isAnyEstimated,
      estimatedUsd,
      startedAt,
      endedAt: Date.now(),
    };
    this.metrics.countCall(ended);
    // all are written concurrently, and none rejects
    const others = [this.writeSpan(ended), ...call.progress.writes];
    try {
      await this.count(ended);
    } finally {
      // what the call has spent is no longer reserved
      call.onRecorded(recorded);
    }
    await Promise.all(others);
    return recorded;
  }

  /**
   * Returns the usage of an answer that did not report all of it: what has arrived or, if that is more, what the model may have
   * generated until then, because reasoning is hidden. A provider that goes on in the background generates all that it can.
   */
  private estimate(call: Call, { facts, error }: CallOutcome, answeredLength: number): Usage {
    const { format, progress, body } = call;
    const { bound } = call.facts;
    const { usage } = facts;
    const most = mostUsage(progress.target!, format, bound, this.prices);
    if (bound.isInBackground) return completedUsage(usage, most);
    const length = Math.ceil(answeredLength / BYTES_PER_TOKEN);
    // an answer that is complete but has no usage comes from a server that never reports it
    if (error === null) {
      const inputTokens = usage.inputTokens ?? Math.ceil(body.length / BYTES_PER_TOKEN);
      return { ...usage, inputTokens, outputTokens: Math.max(usage.outputTokens ?? 0, length) };
    }
    const seconds = (Date.now() - progress.attempts.at(-1)!.startedAt) / 1000;
    const generated = Math.max(length, Math.ceil(seconds * HIDDEN_TOKENS_PER_SECOND * bound.answers));
    const outputTokens = Math.max(usage.outputTokens ?? 0, Math.min(generated, most.outputTokens!));
    return { ...usage, inputTokens: usage.inputTokens ?? most.inputTokens, outputTokens };
  }

  /** Adds the call to the usage. */
  private count(ended: EndedCall): Promise<void> {
    const { call, outcome, usage, costUsd, isEstimated, estimatedUsd } = ended;
    const { isCached, error } = outcome;
    const { caller, model, progress } = call;
    const { target, attempts } = progress;
    const used = isCached ? NO_USAGE : usage;
    const own = attempts.filter((attempt) => attempt.target === target);
    const row: UsageRow = {
      workspace_id: model.workspace_id,
      day: new Date(ended.endedAt).toISOString().slice(0, 10),
      model_id: model.model_id,
      principal_id: caller.principalId,
      provider_id: target?.provider.provider_id ?? '',
      upstream_model: target?.upstream_model ?? '',
      org_id: caller.orgId,
      call_count: 1,
      failed_count: error === null ? 0 : 1,
      cached_count: isCached ? 1 : 0,
      attempts: own.length,
      failed_attempts: own.filter(({ isFailed }) => isFailed).length,
      unpriced_count: costUsd === null ? 1 : 0,
      estimated_count: isEstimated ? 1 : 0,
      input_tokens: used.inputTokens ?? 0,
      output_tokens: used.outputTokens ?? 0,
      cached_input_tokens: used.cachedInputTokens ?? 0,
      cache_write_tokens: used.cacheWriteTokens ?? 0,
      cost_usd: costUsd ?? 0,
      estimated_usd: costUsd === null ? 0 : estimatedUsd,
    };
    const elsewhere = attempts.filter((attempt) => attempt.target !== target);
    const others = elsewhere.map((attempt) => ({
      ...row,
      ...NO_COUNTS,
      provider_id: attempt.target.provider.provider_id,
      upstream_model: attempt.target.upstream_model,
      attempts: 1,
      failed_attempts: attempt.isFailed ? 1 : 0,
    }));
    return this.usage.add({ row, others, serviceAccountId: caller.serviceAccountId });
  }

  private async writeSpan(ended: EndedCall): Promise<void> {
    const { caller, model, body } = ended.call;
    if (!model.record_spans) return;
    // the messages of the request are parsed again
    const bytes = model.capture_content && body.length <= CONTENT_MAX ? body.length : 0;
    const span = await this.turns.run(caller.orgId, undefined, bytes, () => spanOf(ended));
    await this.spans.add(caller.orgId, model.workspace_id, span);
  }
}

/** Returns the sum, or null if a part is unknown. */
const sumOrNull = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;
