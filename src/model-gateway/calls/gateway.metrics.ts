import { Injectable } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import type { ProviderKind } from '../providers/provider.entity';
import type { EndedCall } from './span.writer';

const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Why a budget refused a call. */
export const BUDGET_REFUSALS = ['spent', 'reserved', 'too_large', 'unpriced'] as const;
export type BudgetRefusal = (typeof BUDGET_REFUSALS)[number];

/** The kind of the provider that was called last. `none` for a cached answer, and for a call without a request. */
type Kind = ProviderKind | 'none';

/** Metrics of the model calls of this process: requests of clients, and of judges and other parts of the service. */
@Injectable()
export class GatewayMetrics {
  private readonly calls: Counter<'provider_kind' | 'outcome'>;
  private readonly attempts: Counter<'provider_kind' | 'outcome'>;
  private readonly tokens: Counter<'provider_kind' | 'direction'>;
  private readonly cost: Counter<'provider_kind'>;
  private readonly duration: Histogram<'provider_kind'>;
  private readonly firstByte: Histogram<'provider_kind'>;
  private readonly refusals: Counter<'reason'>;

  constructor(metrics: Metrics) {
    this.calls = metrics.counter('model_calls_total', 'Calls of models that passed all checks, by outcome.', [
      'provider_kind',
      'outcome',
    ]);
    this.attempts = metrics.counter(
      'model_attempts_total',
      'Requests to providers: answered, or failed because of the provider.',
      ['provider_kind', 'outcome'],
    );
    this.tokens = metrics.counter('model_tokens_total', 'Tokens that models have used.', [
      'provider_kind',
      'direction',
    ]);
    this.cost = metrics.counter('model_cost_usd_total', 'Known cost of models, in US dollars.', [
      'provider_kind',
    ]);
    this.duration = metrics.histogram(
      'model_call_duration_seconds',
      'Time from a call to the end of its answer, for answers of providers.',
      BUCKETS,
      ['provider_kind'],
    );
    this.firstByte = metrics.histogram(
      'model_first_byte_seconds',
      'Time from a call to the first byte of its stream.',
      BUCKETS,
      ['provider_kind'],
    );
    this.refusals = metrics.counter(
      'model_budget_refusals_total',
      'Calls that were refused because of a monthly budget.',
      ['reason'],
    );
    for (const reason of BUDGET_REFUSALS) this.refusals.inc({ reason }, 0);
  }

  /** Counts a call that has ended, with its requests to providers. */
  countCall({ call, outcome, usage, costUsd, startedAt, endedAt }: EndedCall): void {
    const { target, attempts } = call.progress;
    const { isCached, error, firstByteMs } = outcome;
    const provider_kind: Kind = isCached || !target ? 'none' : target.provider.kind;
    this.calls.inc({ provider_kind, outcome: isCached ? 'cached' : outcomeOf(error) });
    for (const { target: one, isFailed } of attempts) {
      this.attempts.inc({ provider_kind: one.provider.kind, outcome: isFailed ? 'failed' : 'answered' });
    }
    if (provider_kind === 'none') return;
    this.tokens.inc({ provider_kind, direction: 'input' }, usage.inputTokens ?? 0);
    this.tokens.inc({ provider_kind, direction: 'output' }, usage.outputTokens ?? 0);
    this.cost.inc({ provider_kind }, costUsd ?? 0);
    if (error === null) this.duration.observe({ provider_kind }, (endedAt - startedAt) / 1000);
    if (firstByteMs !== null) this.firstByte.observe({ provider_kind }, firstByteMs / 1000);
  }

  countRefusal(reason: BudgetRefusal): void {
    this.refusals.inc({ reason });
  }
}

function outcomeOf(error: string | null): 'answered' | 'client_gone' | 'failed' {
  if (error === null) return 'answered';
  return error === 'client_gone' ? 'client_gone' : 'failed';
}
