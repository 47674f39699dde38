import { Injectable } from '@nestjs/common';
import { ModelPrices } from '../../telemetry';
import { NO_USAGE, sumOfUsage, type Usage } from '../formats/usage';
import { NO_COUNTS, type UsageRow } from '../usage/usage.repository';
import { UsageWriter } from '../usage/usage.writer';
import { BYTES_PER_TOKEN, costOfCall } from './call-budgets';
import type { Call, CallOutcome, Recorded } from './call.types';
import { type EndedCall, spanOf, SpanWriter } from './span.writer';

/** Records calls: their usage, cost and span. */
@Injectable()
export class CallRecorder {
  constructor(
    private readonly prices: ModelPrices,
    private readonly usage: UsageWriter,
    private readonly spans: SpanWriter,
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
    // an answer that broke off may have reported only the usage at its start
    const isEstimated = answeredLength !== null && (facts.usage.inputTokens === null || error !== null);
    const answered = isEstimated ? estimateUsage(call, facts.usage, answeredLength) : facts.usage;
    const isFree = isCached || !target || (error !== null && answeredLength === null);
    const costs = [
      isFree ? 0 : costOfCall(target, answered, this.prices),
      ...lost.map((one) => costOfCall(one.target, one.usage, this.prices)),
    ];
    const recorded: Recorded = {
      usage: lost.reduce((sum, one) => sumOfUsage(sum, one.usage), answered),
      costUsd: costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost)),
    };
    const ended: EndedCall = {
      ...recorded,
      call,
      outcome,
      isEstimated: isEstimated || lost.length > 0,
      startedAt,
      endedAt: Date.now(),
    };
    try {
      await this.write(ended);
    } finally {
      call.onRecorded(recorded);
    }
    return recorded;
  }

  private async write(ended: EndedCall): Promise<void> {
    const { call, outcome, usage, costUsd } = ended;
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
      input_tokens: used.inputTokens ?? 0,
      output_tokens: used.outputTokens ?? 0,
      cached_input_tokens: used.cachedInputTokens ?? 0,
      cache_write_tokens: used.cacheWriteTokens ?? 0,
      cost_usd: costUsd ?? 0,
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
    // all are written concurrently, and none rejects
    const counted = this.usage.add({ row, others, serviceAccountId: caller.serviceAccountId });
    if (model.record_spans) await this.spans.add(caller.orgId, model.workspace_id, spanOf(ended));
    await Promise.all([counted, ...progress.writes]);
  }
}

/** Returns the reported usage, with estimates for the parts that are missing or too low. */
const estimateUsage = ({ body }: Call, reported: Usage, answeredLength: number): Usage => ({
  ...reported,
  inputTokens: reported.inputTokens ?? Math.ceil(body.length / BYTES_PER_TOKEN),
  outputTokens: Math.max(reported.outputTokens ?? 0, Math.ceil(answeredLength / BYTES_PER_TOKEN)),
});
