import { Injectable } from '@nestjs/common';
import { Batcher, FairLimiter } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { ReservationRepository, type SubjectState } from './reservation.repository';

/** How often a process gives back what its calls no longer need, and renews the rest. */
const RENEWAL_MS = 1_000;
/** A process reserves in advance for this many calls, but at most this part of what is left of a budget. */
const ADVANCE = { calls: 16, part: 1 / 16 };
/** Maximum number of reservations that are decided at once. */
const ASKS_MAX = 1_000;
const OWNER = 'model budgets';

/** A monthly budget that a call counts against. */
export interface Budget {
  /** The id of the model, workspace or service account whose spending counts. */
  subject: string;
  usd: number;
  noun: string;
}

/** A budget that has no room for a call. */
export interface UsedBudget extends Budget {
  /** Zero or less if the budget is spent. Otherwise, calls in flight have reserved it. */
  leftUsd: number;
}

/** What this process has reserved of a subject's budget, in US dollars. */
interface Share {
  /** Reserved in the database, and not spent since. */
  usd: number;
  /** Whether `usd` is being written. Until it is, calls ask for more. */
  isChanging: boolean;
  /** The part that calls in flight hold, in this number of reservations. */
  heldUsd: number;
  reservations: number;
  /** The part that the process keeps in advance. */
  advanceUsd: number;
  /** Whether calls have reserved anything since the last renewal. */
  isUsed: boolean;
}

/** A reservation for which the shares of this process are too small. */
interface Ask {
  budgets: readonly Budget[];
  usd: number;
}

/** Writes all shares again. */
const RENEWAL: Ask = { budgets: [], usd: 0 };

/**
 * Reserves the cost of calls in flight in budgets, over all processes: what is spent and reserved can exceed a budget only by one
 * reservation. Each process has a share of a budget in the database, with something in advance, so that most calls need no
 * statement. The share of a process that has died expires after a minute.
 */
@Injectable()
export class BudgetReservations {
  private readonly shares = new Map<string, Share>();
  private timer: NodeJS.Timeout | undefined;
  private readonly asks = new Batcher<Ask, UsedBudget | null>({
    run: (asks) => this.run(asks),
    max: ASKS_MAX,
    shared: { limiter: new FairLimiter({ concurrency: 1, share: 1 }), owner: OWNER },
  });

  constructor(private readonly repository: ReservationRepository) {}

  /**
   * Reserves US dollars of all budgets, if any of each is left. Returns a budget of which nothing is left, or null.
   *
   * @param orgId the organization of the budgets
   */
  async reserve(orgId: string, budgets: readonly Budget[], usd: number): Promise<UsedBudget | null> {
    const hasRoom = (share: Share | undefined): boolean =>
      share !== undefined && !share.isChanging && share.heldUsd + usd <= share.usd;
    if (!budgets.every(({ subject }) => hasRoom(this.shares.get(subject))))
      return this.asks.add([orgId], { budgets, usd });
    this.hold(budgets, usd);
    return null;
  }

  /**
   * Ends reservations.
   *
   * @param reserved the US dollars of each
   * @param spentUsd what they have cost, which is stored as spent
   */
  release(budgets: readonly Budget[], reserved: readonly number[], spentUsd: number): void {
    const usd = sumOf(reserved);
    for (const { subject } of budgets) {
      const share = this.shares.get(subject)!;
      share.reservations -= reserved.length;
      // the last one also removes rounding errors
      share.heldUsd = share.reservations === 0 ? 0 : share.heldUsd - usd;
      share.usd = Math.max(0, share.usd - Math.min(usd, spentUsd));
    }
  }

  /** Returns the US dollars that calls of this process hold. */
  heldBy(subject: string): number {
    return this.shares.get(subject)?.heldUsd ?? 0;
  }

  private hold(budgets: readonly Budget[], usd: number): void {
    for (const { subject } of budgets) {
      const share = this.shares.get(subject)!;
      share.heldUsd += usd;
      share.reservations++;
      share.isUsed = true;
    }
  }

  private async run(asks: readonly Ask[]): Promise<(UsedBudget | null)[]> {
    const asked = new Set(asks.flatMap(({ budgets }) => budgets.map(({ subject }) => subject)));
    for (const subject of asked) if (!this.shares.has(subject)) this.shares.set(subject, newShare());
    this.timer ??= setInterval(() => this.renew(), RENEWAL_MS).unref();
    const isRenewal = asks.includes(RENEWAL);
    const changing = [...this.shares].filter(([subject]) => isRenewal || asked.has(subject));
    for (const [, share] of changing) share.isChanging = true;
    try {
      const results = await this.repository.transaction(async (tx) => {
        const states = asked.size > 0 ? await this.repository.lock(tx, [...asked]) : [];
        // there is no await from here to `put`, so that calls that end meanwhile change what is written
        const { results, plannedUsd } = this.decide(asks, states);
        for (const [subject, share] of changing) {
          const advanceUsd = isRenewal && !share.isUsed ? 0 : share.advanceUsd;
          share.usd = share.heldUsd + (plannedUsd.get(subject) ?? 0) + advanceUsd;
        }
        await this.repository.put(tx, new Map(changing.map(([subject, { usd }]) => [subject, usd])));
        return results;
      });
      asks.forEach(({ budgets, usd }, index) => results[index] === null && this.hold(budgets, usd));
      if (isRenewal) this.forgetUnused(changing);
      return results;
    } catch (error) {
      for (const [, share] of changing) share.usd = 0;
      throw error;
    } finally {
      for (const [, share] of changing) share.isChanging = false;
    }
  }

  /** Decides in the order of the reservations, each of which takes room from the next. */
  private decide(
    asks: readonly Ask[],
    states: readonly SubjectState[],
  ): { results: (UsedBudget | null)[]; plannedUsd: Map<string, number> } {
    const plannedUsd = new Map(states.map(({ subject }) => [subject, 0]));
    const stateOf = new Map(states.map((state) => [state.subject, state]));
    const results = asks.map(({ budgets, usd }): UsedBudget | null => {
      const all = budgets.map((budget) => {
        const { spent_usd, elsewhere_usd } = stateOf.get(budget.subject)!;
        const share = this.shares.get(budget.subject)!;
        const leftUsd = budget.usd - spent_usd;
        const roomUsd = leftUsd - elsewhere_usd - share.heldUsd - plannedUsd.get(budget.subject)!;
        return { ...budget, share, leftUsd, roomUsd };
      });
      const used = all.find(({ roomUsd }) => roomUsd <= 0);
      if (used) return used;
      for (const { subject, share, roomUsd } of all) {
        plannedUsd.set(subject, plannedUsd.get(subject)! + usd);
        share.advanceUsd = Math.max(0, Math.min(ADVANCE.calls * usd, ADVANCE.part * (roomUsd - usd)));
      }
      return null;
    });
    return { results, plannedUsd };
  }

  private renew(): void {
    if (this.shares.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    } else if (!this.isRenewing) {
      this.isRenewing = true;
      this.asks
        .add([OWNER], RENEWAL)
        .catch((err: unknown) => rootLogger.warn({ err }, 'reservations in budgets could not be renewed'))
        .finally(() => (this.isRenewing = false));
    }
  }
  private isRenewing = false;

  private forgetUnused(shares: readonly (readonly [string, Share])[]): void {
    for (const [subject, share] of shares) {
      if (share.reservations === 0 && !share.isUsed) this.shares.delete(subject);
      share.isUsed = false;
    }
  }
}

const newShare = (): Share => ({
  usd: 0,
  isChanging: false,
  heldUsd: 0,
  reservations: 0,
  advanceUsd: 0,
  isUsed: false,
});

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
