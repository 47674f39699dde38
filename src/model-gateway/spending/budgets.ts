import { Injectable } from '@nestjs/common';
import { Problem, problem } from '#platform/problem';
import { ModelPrices } from '../../telemetry';
import { BudgetDirectory } from '../budgets/budget-directory';
import type { KeyLimits } from '../keys/key-directory';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import { NO_RETRY } from './no-retry';
import { costOfCall } from './prices';
import { SpentCache } from './spent.cache';

/** Bytes of a token, about, for estimates before a call. */
const BYTES_PER_TOKEN = 4;
/** Tokens of an answer that the client does not limit, for estimates. */
const LIKELY_OUTPUT_TOKENS = 1_024;

/** A budget that a call counts against. */
interface Budget {
  /** Whose spending is counted. */
  subject: string;
  usd: number;
  noun: string;
}

/** A call to be paid from budgets. */
export interface Spending {
  model: CalledModel;
  requestBytes: number;
  /** The most tokens of the answer, if the client limits them. */
  maxTokens: number | null;
  /** The limits of the key, if the caller is one. */
  limits: KeyLimits | null;
}

/** What a call may do after the budgets were checked. */
export interface Allowance {
  /** The model, with the targets whose price is known if a budget counts. */
  model: CalledModel;
  /** Ends the reservation of the likely cost. Call it once the call is recorded. */
  release: () => void;
}

const FREE = (): void => undefined;

/** Keeps calls within the budgets of their model, their workspace and their key. */
@Injectable()
export class Budgets {
  constructor(
    private readonly directory: BudgetDirectory,
    private readonly spent: SpentCache,
    private readonly prices: ModelPrices,
  ) {}

  /**
   * Checks that something is left of each budget, and reserves the likely cost of a call. So calls at the same time exceed a budget
   * by about one call, and by what other processes spend within a second.
   *
   * Errors: 429 for a spent budget, 409 if the cost of the call could not be counted.
   */
  async allow(spending: Spending): Promise<Allowance> {
    const { model } = spending;
    const budgets = await this.budgetsOf(spending);
    if (budgets.length === 0) return { model, release: FREE };
    const priced = model.targets.filter((target) => this.likelyCost(target, spending) !== null);
    if (priced.length === 0) throw unpriced(model.targets, budgets[0]!);
    const subjects = budgets.map(({ subject }) => subject);
    const spent = await this.spent.of(subjects);
    // nothing waits from here on, so that calls at the same time see what others have reserved
    const exhausted = budgets.find(
      ({ subject, usd }) => (spent.get(subject) ?? 0) + this.spent.reservedBy(subject) >= usd,
    );
    if (exhausted) throw exhaustedProblem(exhausted);
    const cost = Math.max(...priced.map((target) => this.likelyCost(target, spending) ?? 0));
    return { model: { ...model, targets: priced }, release: this.spent.reserve(subjects, cost) };
  }

  /** Returns the price of tokens of a model in US dollars, by its first target with a known price; null without one. */
  costOf(model: CalledModel, inputTokens: number | null, outputTokens: number | null): number | null {
    const usage = { inputTokens, outputTokens, cachedInputTokens: null, cacheWriteTokens: null };
    for (const target of model.targets) {
      const cost = costOfCall(target, usage, this.prices);
      if (cost !== null) return cost;
    }
    return null;
  }

  private async budgetsOf({ model, limits }: Spending): Promise<Budget[]> {
    const { workspace_id } = model;
    const cached = this.directory.cached(workspace_id);
    const ofWorkspace = cached === undefined ? await this.directory.find(workspace_id) : cached;
    const all: [subject: string | null, usd: number | null, noun: string][] = [
      [model.model_id, model.monthly_budget_usd, `the model ${model.name}`],
      [workspace_id, ofWorkspace, 'the workspace'],
      [limits?.service_account_id ?? null, limits?.monthly_budget_usd ?? null, 'the key'],
    ];
    return all.flatMap(([subject, usd, noun]) =>
      subject === null || usd === null ? [] : [{ subject, usd, noun }],
    );
  }

  private likelyCost(target: CalledTarget, { maxTokens, requestBytes }: Spending): number | null {
    const usage = {
      inputTokens: Math.ceil(requestBytes / BYTES_PER_TOKEN),
      outputTokens: maxTokens ?? LIKELY_OUTPUT_TOKENS,
      cachedInputTokens: null,
      cacheWriteTokens: null,
    };
    return costOfCall(target, usage, this.prices);
  }
}

function exhaustedProblem({ noun, usd }: Budget): Problem {
  const now = new Date();
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const seconds = Math.ceil((next - now.getTime()) / 1000);
  const detail = `The monthly budget of ${noun} (${usd} US dollars) is spent. Raise it, or wait until the next month (UTC).`;
  return problem.rateLimited(detail, seconds).extended({ error_code: 'insufficient_quota' }, NO_RETRY);
}

function unpriced(targets: readonly CalledTarget[], { noun }: Budget): Problem {
  const names = targets.map(({ upstream_model }) => upstream_model).join(', ');
  return problem.conflict(
    `The call cannot be counted against the monthly budget of ${noun}, because no price is known for ${names}. Set \`price\` in the model's targets.`,
    { headers: NO_RETRY },
  );
}
