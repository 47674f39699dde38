import type { ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { Injectable, Module } from '@nestjs/common';
import { ByteBudget, type ByteLease } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { type Gauge, Metrics, MetricsModule } from '#platform/metrics';
import { type Problem, problem } from '#platform/problem';
import { onEnd, type ServiceRequest } from './request-context';

/** A budget that bodies take their memory from. Routes with the same object share it. */
export interface BudgetRule {
  /** Label of its metric. */
  name: string;
  bytes: (environment: Environment) => number;
  /** Detail of the 503 problem. */
  detail: string;
}

/** The budget of routes that name no other. */
export const MEMORY_BUDGET: BudgetRule = {
  name: 'memory',
  bytes: ({ MEMORY_BUDGET_BYTES }) => MEMORY_BUDGET_BYTES ?? getHeapStatistics().heap_size_limit / 4,
  detail: 'The service is processing too many large bodies. Try again later.',
};

/** The byte budgets of a process. One organization gets at most half of each, so that it cannot lock out the others. */
@Injectable()
export class BodyBudgets {
  /** For temporary files. */
  readonly spool: ByteBudget;
  private readonly budgets = new Map<BudgetRule, ByteBudget>();
  private readonly bytesInUse: Gauge<'budget'>;

  constructor(
    private readonly environment: Environment,
    metrics: Metrics,
  ) {
    const total = environment.SPOOL_LIMIT_BYTES;
    this.spool = new ByteBudget({ total, share: total / 2 });
    this.bytesInUse = metrics.gauge('request_body_bytes', 'Memory held by request bodies, in bytes.', [
      'budget',
    ]);
  }

  of(rule: BudgetRule): ByteBudget {
    let budget = this.budgets.get(rule);
    if (!budget) {
      const { name, detail } = rule;
      const total = rule.bytes(this.environment);
      const onChange = (used: number): void => this.bytesInUse.set({ budget: name }, used);
      budget = new ByteBudget({ total, share: total / 2, admitsOversized: true, detail, onChange });
      this.budgets.set(rule, budget);
    }
    return budget;
  }

  /** Throws 503 if an owner has nearly used up its share of the memory for bodies and responses. */
  checkMemory(owner: string): void {
    if (this.of(MEMORY_BUDGET).isNearlyExhausted(owner)) throw unreadResponses();
  }

  /** Returns a lease of the caller that lasts until the response is closed and the handler has ended. */
  leaseFor(request: ServiceRequest, response: ServerResponse, rule: BudgetRule): ByteLease {
    const lease = this.of(rule).acquire(request.user?.orgId ?? '');
    onEnd(request, response, () => lease.release());
    return lease;
  }
}

/** The byte budgets, for the API and the worker. */
@Module({ imports: [MetricsModule], providers: [BodyBudgets], exports: [BodyBudgets] })
export class BodyBudgetsModule {}

/** Returns the 503 for a caller whose organization does not read its responses. */
export const unreadResponses = (): Problem =>
  problem.overloaded(
    'Your organization has used up its share of memory for request bodies and unread responses. Read your open responses, then try again.',
  );
