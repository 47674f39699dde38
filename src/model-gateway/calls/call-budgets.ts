import { Injectable } from '@nestjs/common';
import { Problem, problem } from '#platform/problem';
import { costOf, ModelPrices, type PriceTable } from '../../telemetry';
import { BudgetRepository } from '../budgets/budget.repository';
import { SpendRepository } from '../budgets/spend.repository';
import { NO_USAGE, type Usage } from '../formats/usage';
import type { KeyLimits } from '../keys/key-limits.repository';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import { type LostAnswer, NO_RETRY, quotaExhausted } from './call-failure';

/** Approximate bytes per token. */
export const BYTES_PER_TOKEN = 4;
/** Bytes per token of lost answers: fewer than on average, so that they do not exceed a budget. */
const LOST_BYTES_PER_TOKEN = 3;
/** Assumed output tokens of a call without a limit, for estimates. */
const LIKELY_OUTPUT_TOKENS = 1_024;
/** `Retry-After` for a budget that calls in flight have reserved, in seconds. */
export const RESERVED_SECONDS = 5;

/** A budget that a call counts against. */
interface Budget {
  /** The id of the model, workspace or service account whose spending counts. */
  subject: string;
  usd: number;
  noun: string;
}

/** A call to check against budgets. */
export interface Spending {
  model: CalledModel;
  requestBytes: number;
  /** Maximum tokens of the answer, if the client limits them. */
  maxTokens: number | null;
  /** The limits of the caller, if it is a gateway key. */
  limits: KeyLimits | null;
}

/** The permission for a call, after the budgets were checked. */
export interface Allowance {
  /** The model. If a budget applies, it has only the targets whose price is known. */
  model: CalledModel;
  /** Releases the reserved cost. Call it once the call is recorded. */
  release: () => void;
}

const noop = (): void => undefined;

/** Keeps calls within the budgets of their model, their workspace and their key. */
@Injectable()
export class CallBudgets {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly spending: SpendRepository,
    private readonly prices: ModelPrices,
  ) {}

  /**
   * Checks that no budget is spent or reserved, and reserves the likely cost of a call. Concurrent calls can therefore exceed a
   * budget only by about one call, plus the amount that other processes spend within a second.
   *
   * Errors: 429 for a budget that is spent, or that calls in flight have reserved; 409 if the price of the call is unknown.
   */
  async allow(spending: Spending): Promise<Allowance> {
    const { model } = spending;
    const budgets = await this.budgetsOf(spending);
    if (budgets.length === 0) return { model, release: noop };
    const priced = model.targets.filter((target) => this.likelyCost(target, spending) !== null);
    if (priced.length === 0) throw unpriced(model.targets, budgets[0]!);
    const subjects = budgets.map(({ subject }) => subject);
    const spent = await this.spending.spentBy(subjects);
    // there is no await from here on, so that concurrent calls see each other's reservations
    const states = budgets.map((budget) => ({
      ...budget,
      leftUsd: budget.usd - (spent.get(budget.subject) ?? 0),
      reservedUsd: this.spending.reservedBy(budget.subject),
    }));
    const spentBudget = states.find(({ leftUsd }) => leftUsd <= 0);
    if (spentBudget) throw spentProblem(spentBudget);
    const reservedBudget = states.find(({ leftUsd, reservedUsd }) => reservedUsd >= leftUsd);
    if (reservedBudget) throw reservedProblem(reservedBudget);
    const cost = Math.max(...priced.map((target) => this.likelyCost(target, spending) ?? 0));
    return { model: { ...model, targets: priced }, release: this.spending.reserve(subjects, cost) };
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

  private likelyCost(target: CalledTarget, { maxTokens, requestBytes }: Spending): number | null {
    const usage = {
      ...NO_USAGE,
      inputTokens: Math.ceil(requestBytes / BYTES_PER_TOKEN),
      outputTokens: maxTokens ?? LIKELY_OUTPUT_TOKENS,
    };
    return costOfCall(target, usage, this.prices);
  }
}

function spentProblem({ noun, usd }: Budget): Problem {
  const now = new Date();
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const seconds = Math.ceil((next - now.getTime()) / 1000);
  const detail = `The monthly budget of ${noun} (${usd} US dollars) is spent. Ask an admin to raise it, or wait until next month (UTC).`;
  return quotaExhausted(detail, seconds);
}

/** Returns a 429 that clients retry, because the reservations end with the calls in flight, which usually cost less. */
function reservedProblem({ noun, usd, leftUsd }: Budget & { leftUsd: number }): Problem {
  const left = Number(leftUsd.toPrecision(3));
  const detail =
    `Calls in flight have reserved the rest of the monthly budget of ${noun} (${left} of ${usd} US dollars). ` +
    `Try again in ${RESERVED_SECONDS} s, when some of them have ended. Each call reserves the cost of its \`max_tokens\`. ` +
    'Lower `max_tokens` to run more calls at once.';
  return problem.rateLimited(detail, RESERVED_SECONDS);
}

/** Tells whether a problem is that of a reserved budget, which clients may retry. */
export const isReserved = ({ code, headers }: Problem): boolean =>
  code === 'rate_limited' && !('X-Should-Retry' in headers);

function unpriced(targets: readonly CalledTarget[], { noun }: Budget): Problem {
  const names = targets.map(({ upstream_model }) => upstream_model).join(', ');
  return problem.conflict(
    `The call cannot be counted against the monthly budget of ${noun}, because no price is known for ${names}. Set \`price\` in the model's targets.`,
    { headers: NO_RETRY },
  );
}

/**
 * Returns the tokens of a lost answer: those that it reports, or an estimate by its size.
 *
 * @param maxTokens maximum tokens of the answer, if the request limits them
 */
export function usageOfLost(
  { usage, bytes }: LostAnswer,
  request: string | Uint8Array,
  maxTokens: number | null,
): Usage {
  const estimated = bytes === null ? (maxTokens ?? LIKELY_OUTPUT_TOKENS) : lostTokens(bytes);
  return {
    ...usage,
    inputTokens: usage.inputTokens ?? lostTokens(Buffer.byteLength(request)),
    outputTokens: usage.outputTokens ?? Math.min(estimated, maxTokens ?? Infinity),
  };
}

const lostTokens = (bytes: number): number => Math.ceil(bytes / LOST_BYTES_PER_TOKEN);

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
