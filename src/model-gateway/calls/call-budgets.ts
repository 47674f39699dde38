import { Injectable } from '@nestjs/common';
import { Problem, problem } from '#platform/problem';
import { costOf, ModelPrices, type PriceTable } from '../../telemetry';
import { BudgetRepository } from '../budgets/budget.repository';
import { type Budget, BudgetReservations, type ExhaustedBudget } from '../budgets/budget-reservations';
import { SpendRepository } from '../budgets/spend.repository';
import { DEFAULT_MAX_TOKENS } from '../formats/chat-to-messages';
import { NO_USAGE, type Usage } from '../formats/usage';
import type { KeyLimits } from '../keys/key-limits.repository';
import type { CalledModel, CalledProvider, CalledTarget } from '../models/model-directory';
import type { CallFormat, RequestBound, RequestFacts, Reservation } from './call.types';
import { NO_RETRY, quotaExhausted } from './call-failure';
import { type BudgetRefusal, GatewayMetrics } from './gateway.metrics';
import { mostTokens } from './request-bound';

/** `Retry-After` for a budget that calls in flight have reserved, in seconds. */
export const RESERVED_SECONDS = 5;

/** A call to check against budgets. */
export interface Spending {
  model: CalledModel;
  format: CallFormat;
  facts: Pick<RequestFacts, 'bound'>;
  /** The limits of the caller, if it is a gateway key. */
  limits: KeyLimits | null;
}

/** The permission for a call, after the budgets were checked. */
export interface Allowance {
  /** The model. If a budget applies, it has only the targets whose price is known. */
  model: CalledModel;
  reservation: Reservation;
}

/** The reservation of a call without a budget. */
export const UNLIMITED: Reservation = { next: () => true, keep: () => undefined, release: () => undefined };

/** Keeps calls within the budgets of their model, their workspace and their key. */
@Injectable()
export class CallBudgets {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly spending: SpendRepository,
    private readonly reservations: BudgetReservations,
    private readonly prices: ModelPrices,
    private readonly metrics: GatewayMetrics,
  ) {}

  /**
   * Checks that no budget is spent or reserved, and reserves the most that a call can cost. Concurrent calls can therefore exceed a
   * budget only by one request, across all processes.
   *
   * Errors: 429 for a budget that is spent, or that calls in flight have reserved; 403 if the limits that the request names, or the
   * number of responses, let it cost more than a whole budget and more than one response without a limit; 409 if the price of the call is unknown.
   */
  async allow(spending: Spending): Promise<Allowance> {
    const { model } = spending;
    const budgets = await this.budgetsOf(spending);
    if (budgets.length === 0) return { model, reservation: UNLIMITED };
    const priced = model.targets.filter((target) => this.mostUsd(target, spending) !== null);
    if (priced.length === 0) throw this.refusal('unpriced', unpriced(model.targets, budgets[0]!));
    const mostUsd = (of: Spending): number => Math.max(...priced.map((target) => this.mostUsd(target, of)!));
    const usd = mostUsd(spending);
    const spent = await this.spending.spentBy(budgets.map(({ subject }) => subject));
    const spentBudget = budgets.find((one) => one.usd <= spent.get(one.subject)!);
    if (spentBudget) throw this.refusal('spent', spentProblem(spentBudget));
    const smallBudget = budgets.find((one) => usd > one.usd);
    if (smallBudget && usd > mostUsd(withoutLimits(spending))) {
      throw this.refusal('too_large', largeProblem(smallBudget, usd));
    }
    const exhausted = await this.reservations.reserve(model.org_id, budgets, usd);
    if (exhausted && exhausted.leftUsd > 0) throw this.refusal('reserved', reservedProblem(exhausted, usd));
    if (exhausted) throw this.refusal('spent', spentProblem(exhausted));
    return { model: { ...model, targets: priced }, reservation: this.reservationOf(spending, budgets, usd) };
  }

  private refusal(reason: BudgetRefusal, error: Problem): Problem {
    this.metrics.countRefusal(reason);
    return error;
  }

  /** @param usd what is reserved already: the most that a request to any target can cost */
  private reservationOf(spending: Spending, budgets: readonly Budget[], usd: number): Reservation {
    const { org_id } = spending.model;
    let reservedUsd = usd;
    let keptUsd = 0;
    let requestUsd = 0;
    const raise = async (byUsd: number): Promise<boolean> => {
      if (await this.reservations.raise(org_id, budgets, byUsd, reservedUsd - keptUsd)) return false;
      reservedUsd += byUsd;
      return true;
    };
    return {
      next: (target) => {
        requestUsd = this.mostUsd(target, spending)!;
        const missingUsd = keptUsd + requestUsd - reservedUsd;
        if (missingUsd > 0) return raise(missingUsd);
        this.reservations.lower(budgets, -missingUsd);
        reservedUsd += missingUsd;
        return true;
      },
      keep: () => void (keptUsd += requestUsd),
      release: (spentUsd) => this.reservations.release(budgets, reservedUsd, spentUsd),
    };
  }

  /** Returns the cost of a model's tokens in US dollars, at the price of its first target with a known price, or null. */
  costOf(model: CalledModel, inputTokens: number | null, outputTokens: number | null): number | null {
    const usage = { ...NO_USAGE, inputTokens, outputTokens };
    for (const target of model.targets) {
      const cost = costOfCall(target, usage, this.prices);
      if (cost !== null) return cost;
    }
    return null;
  }

  private async budgetsOf({ model, limits }: Spending): Promise<Budget[]> {
    const { workspace_id } = model;
    const amount = this.budgets.amountOf(workspace_id);
    const workspaceBudget = amount instanceof Promise ? await amount : amount;
    const all: [subject: string | null, usd: number | null, noun: string][] = [
      [model.model_id, model.monthly_budget_usd, `the model ${model.name}`],
      [workspace_id, workspaceBudget, 'the workspace'],
      [limits?.service_account_id ?? null, limits?.monthly_budget_usd ?? null, 'the key'],
    ];
    return all.flatMap(([subject, usd, noun]) =>
      subject === null || usd === null ? [] : [{ subject, usd, noun }],
    );
  }

  /** Returns the most that a request to a target can cost, in US dollars, or null if the price is unknown. */
  private mostUsd(target: CalledTarget, { format, facts }: Spending): number | null {
    return costOfCall(target, mostUsage(target, format, facts.bound, this.prices), this.prices);
  }
}

/** Returns a call for one response without a limit, which is allowed however small a budget is. */
function withoutLimits(spending: Spending): Spending {
  const { bound } = spending.facts;
  return {
    ...spending,
    facts: { bound: { ...bound, maxTokens: null, answers: Math.min(1, bound.answers) } },
  };
}

const largeProblem = ({ noun, usd }: Budget, callUsd: number): Problem =>
  new Problem(
    'forbidden',
    `The call could cost ${rounded(callUsd)} US dollars, more than the whole monthly budget of ${noun} (${usd} US dollars). ` +
      'Send a lower `max_tokens` or `n`.',
    { headers: NO_RETRY },
  );

function spentProblem({ noun, usd }: Budget): Problem {
  const now = new Date();
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const seconds = Math.ceil((next - now.getTime()) / 1000);
  const detail = `The monthly budget of ${noun} (${usd} US dollars) is spent. Ask an admin to raise it, or wait until next month (UTC).`;
  return quotaExhausted(detail, seconds);
}

/**
 * Returns a 429 that clients retry, because the reservations end with the calls in flight, which usually cost less.
 *
 * @param callUsd the reservation of the call
 */
function reservedProblem({ noun, usd, leftUsd }: ExhaustedBudget, callUsd: number): Problem {
  return new ReservedProblem(
    `Calls in flight have reserved the rest of the monthly budget of ${noun} (${rounded(leftUsd)} of ${usd} US dollars). ` +
      `Try again in ${RESERVED_SECONDS} s. This call would reserve ${rounded(callUsd)} US dollars. ` +
      'Send a lower `max_tokens` to reserve less.',
  );
}

/** The problem of a budget that calls in flight have reserved. */
class ReservedProblem extends Problem {
  constructor(detail: string) {
    super('rate_limited', detail, { headers: { 'Retry-After': String(RESERVED_SECONDS) } });
  }
}

const rounded = (usd: number): number => Number(usd.toPrecision(3));

/** Tells whether a problem is that of a reserved budget, which clients may retry. */
export const isReserved = (error: Problem): boolean => error instanceof ReservedProblem;

function unpriced(targets: readonly CalledTarget[], { noun }: Budget): Problem {
  const names = targets.map(({ upstream_model }) => upstream_model).join(', ');
  return problem.conflict(
    `The call cannot be counted against the monthly budget of ${noun}, because no price is known for ${names}. Set \`price\` in the model's targets.`,
    { headers: NO_RETRY },
  );
}

/** Returns the largest possible usage; on a tie, the more expensive kind of tokens. */
export function mostUsage(
  target: CalledTarget,
  format: CallFormat,
  bound: RequestBound,
  prices: ModelPrices,
): Usage {
  const { upstream_model: model, provider, max_input_tokens, max_output_tokens } = target;
  // translated requests always have a limit
  const isTranslated = provider.kind === 'anthropic' && format !== 'messages';
  const limit = isIgnored(provider, format, bound) ? null : bound.maxTokens;
  const maxTokens = limit ?? (isTranslated ? DEFAULT_MAX_TOKENS : null);
  const tokens = mostTokens(
    { ...bound, maxTokens },
    {
      maxInputTokens: max_input_tokens,
      maxOutputTokens: max_output_tokens,
      contextTokens: prices.contextOf({ model, apiUrl: provider.base.href }),
    },
  );
  const usage = { ...NO_USAGE, ...tokens };
  if (!bound.writesCache) return usage;
  const cached = { ...usage, cacheWriteTokens: tokens.inputTokens };
  const usd = (one: Usage): number => costOfCall(target, one, prices) ?? 0;
  return usd(cached) > usd(usage) ? cached : usage;
}

/** The hosts that surely read `max_completion_tokens`. */
const NEWER_LIMIT_HOST = /(?:^|\.)(?:api\.openai\.com|openai\.azure\.com)$/;

/** Tells whether a provider may ignore the limit of a request, because it receives only `max_completion_tokens`. */
const isIgnored = ({ kind, base }: CalledProvider, format: CallFormat, { isNewerLimit }: RequestBound) =>
  // messages are translated to chat completions with this limit
  kind === 'openai' && (isNewerLimit || format === 'messages') && !NEWER_LIMIT_HOST.test(base.hostname);

type PricedTarget = Pick<CalledTarget, 'upstream_model' | 'price' | 'provider'>;

/** The price tables of targets with their own price. Each table is created once, because lookups are cached per table. */
const tables = new WeakMap<object, PriceTable>();

/** Returns the cost of a target's tokens in US dollars, or null if the price or the tokens are unknown. */
export function costOfCall(target: PricedTarget, usage: Usage, prices: ModelPrices): number | null {
  const { upstream_model: model, provider } = target;
  const own = tableOf(target);
  return own ? costOf(model, usage, own) : prices.costOf({ ...usage, model, apiUrl: provider.base.href });
}

function tableOf({ upstream_model, price }: PricedTarget): PriceTable | undefined {
  if (price === null) return undefined;
  let table = tables.get(price);
  if (!table) tables.set(price, (table = { [upstream_model]: price }));
  return table;
}
