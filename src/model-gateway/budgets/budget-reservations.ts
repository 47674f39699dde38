import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Batcher, runAs } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import type { Tx } from '#platform/db';
import { EXPIRY_MS, ReservationRepository, type SubjectState } from './reservation.repository';

/** How often a process gives back what its calls no longer need. */
const RENEWAL_MS = 1_000;
/** Age from which an unchanged reservation is renewed, in milliseconds. */
const RENEWAL_AGE_MS = EXPIRY_MS / 3;
/** Number of renewals after which the reservations of dead processes are deleted. */
const RENEWALS_PER_DELETION = 60;
/** A process reserves in advance for this many calls, but at most this fraction of what is left of a budget. */
const ADVANCE = { calls: 256, fraction: 1 / 16 };
/** Maximum number of reservations that are decided at once. */
const BATCH_MAX = 1_000;
const OWNER = 'model budgets';

/** A monthly budget that a call counts against. */
export interface Budget {
  /** The id of the model, workspace or service account whose spending counts. */
  subject: string;
  usd: number;
  noun: string;
}

/** A budget without room for a call. */
export interface ExhaustedBudget extends Budget {
  /** Zero or less if the budget is spent. Otherwise, calls in flight have reserved it. */
  leftUsd: number;
}

/** What this process has reserved of a subject's budget, in US dollars. */
interface Lease {
  /** Reserved in the database, less what calls have spent since. */
  usd: number;
  /** The part that calls in flight hold, and the number of these calls. */
  heldUsd: number;
  calls: number;
  /** The budget for which the lease was last raised. */
  budgetUsd: number;
  /** Whether calls have reserved anything since the last renewal. */
  isUsed: boolean;
  /** Whether the lease is being raised. Meanwhile, further calls wait. */
  isBeingRaised: boolean;
  /** The amount in the database. NaN if it is unknown. */
  storedUsd: number;
  /** Time of the last write (`performance.now()`). */
  storedAt: number;
}

/** An amount that a call needs of several budgets. */
interface ReservationRequest {
  budgets: readonly Budget[];
  usd: number;
  /** What the call has reserved already and no longer needs. Undefined for a call without a reservation. */
  replacedUsd: number | undefined;
}

/**
 * Reserves the cost of calls in flight in budgets, across all processes: what is spent and reserved can exceed a budget only by one
 * reservation. Each process has a lease on a part of a budget in the database, with something in advance, so that calls that are
 * small compared with the budget need no statement. The leases of a process that has died expire after a minute.
 */
@Injectable()
export class BudgetReservations implements OnApplicationShutdown {
  private readonly leases = new Map<string, Lease>();
  private readonly requests = new Batcher<ReservationRequest, ExhaustedBudget | null>({
    run: (requests) => this.run(requests),
    max: BATCH_MAX,
    isSequential: true,
  });
  private timer: NodeJS.Timeout | undefined;
  private renewals = 0;
  private renewal: Promise<void> | undefined;

  constructor(private readonly repository: ReservationRepository) {}

  /**
   * Reserves US dollars of all budgets for a call, if any of each is left. Returns the first budget of which nothing is left, or null.
   *
   * @param orgId the organization of the budgets
   */
  reserve(orgId: string, budgets: readonly Budget[], usd: number): Promise<ExhaustedBudget | null> {
    return this.request(orgId, { budgets, usd, replacedUsd: undefined });
  }

  /**
   * Reserves more for a call that has a reservation. Returns as for `reserve`.
   *
   * @param replacedUsd the part of its reservation that the call no longer needs
   */
  raise(
    orgId: string,
    budgets: readonly Budget[],
    usd: number,
    replacedUsd: number,
  ): Promise<ExhaustedBudget | null> {
    return this.request(orgId, { budgets, usd, replacedUsd });
  }

  /** Reserves less for a call. */
  lower(budgets: readonly Budget[], usd: number): void {
    for (const { subject } of budgets) this.leases.get(subject)!.heldUsd -= usd;
  }

  /**
   * Ends the reservation of a call.
   *
   * @param usd all that is reserved for the call
   * @param spentUsd what the call has cost, which is stored as spent
   */
  release(budgets: readonly Budget[], usd: number, spentUsd: number): void {
    for (const { subject } of budgets) {
      const lease = this.leases.get(subject)!;
      lease.calls--;
      // the last call also removes rounding errors
      lease.heldUsd = lease.calls === 0 ? 0 : lease.heldUsd - usd;
      lease.usd = Math.max(0, lease.usd - Math.min(usd, spentUsd));
    }
  }

  /** Returns the US dollars that calls of this process hold. */
  heldBy(subject: string): number {
    return this.leases.get(subject)?.heldUsd ?? 0;
  }

  /** Gives back what no call holds. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.renewal;
    for (const lease of this.leases.values()) lease.isUsed = false;
    await this.renew();
  }

  private async request(orgId: string, request: ReservationRequest): Promise<ExhaustedBudget | null> {
    return this.tryHold(request) ? null : this.requests.add([orgId], request);
  }

  /** Reserves without a statement, if the leases have room. */
  private tryHold(request: ReservationRequest): boolean {
    const { budgets, usd } = request;
    const now = performance.now();
    const hasRoom = budgets.every((budget) => {
      const lease = this.leases.get(budget.subject);
      return (
        lease !== undefined &&
        !lease.isBeingRaised &&
        lease.heldUsd + usd <= lease.usd &&
        lease.budgetUsd <= budget.usd &&
        now - lease.storedAt < EXPIRY_MS
      );
    });
    if (hasRoom) this.hold(request);
    return hasRoom;
  }

  private hold({ budgets, usd, replacedUsd }: ReservationRequest): void {
    for (const { subject } of budgets) {
      const lease = this.leases.get(subject)!;
      lease.heldUsd += usd;
      lease.isUsed = true;
      if (replacedUsd === undefined) lease.calls++;
    }
  }

  private async run(requests: readonly ReservationRequest[]): Promise<(ExhaustedBudget | null)[]> {
    // the previous batch may have raised the leases enough
    const undecided = requests.filter((request) => !this.tryHold(request));
    if (undecided.length === 0) return requests.map(() => null);
    const leases = this.leasesOf(undecided);
    for (const lease of leases.values()) lease.isBeingRaised = true;
    try {
      await this.renewal; // which may be writing the same leases
      const { results, storedUsd, storedAt } = await this.repository.transaction((tx) =>
        this.raiseLeases(tx, leases, undecided),
      );
      for (const [subject, usd] of storedUsd)
        Object.assign(leases.get(subject)!, { storedUsd: usd, storedAt });
      for (const request of undecided) if (results.get(request) === null) this.hold(request);
      return requests.map((request) => results.get(request) ?? null);
    } catch (error) {
      for (const lease of leases.values()) Object.assign(lease, { usd: 0, storedUsd: NaN });
      throw error;
    } finally {
      for (const lease of leases.values()) lease.isBeingRaised = false;
    }
  }

  private leasesOf(requests: readonly ReservationRequest[]): Map<string, Lease> {
    this.timer ??= this.startTimer();
    const subjects = new Set(requests.flatMap(({ budgets }) => budgets.map(({ subject }) => subject)));
    for (const subject of subjects) if (!this.leases.has(subject)) this.leases.set(subject, { ...NEW_LEASE });
    return new Map([...subjects].map((subject) => [subject, this.leases.get(subject)!]));
  }

  /** Returns the results, and what it has written. Runs again after a deadlock. */
  private async raiseLeases(
    tx: Tx,
    leases: ReadonlyMap<string, Lease>,
    requests: readonly ReservationRequest[],
  ): Promise<Pick<Decision, 'results'> & { storedUsd: Map<string, number>; storedAt: number }> {
    // before the statement, which may not see what calls that end meanwhile have spent
    const heldUsd = new Map([...leases].map(([subject, lease]) => [subject, lease.heldUsd]));
    const states = await this.repository.lock(tx, [...leases.keys()]);
    const { results, subjects } = decide(requests, states, heldUsd);
    const storedAt = performance.now();
    const storedUsd = new Map<string, number>();
    for (const [subject, lease] of leases) {
      const { plannedUsd, advanceUsd, budgetUsd } = subjects.get(subject)!;
      lease.usd = lease.heldUsd + plannedUsd + advanceUsd;
      lease.budgetUsd = budgetUsd;
      if (lease.usd === lease.storedUsd) continue;
      storedUsd.set(subject, lease.usd);
      lease.storedUsd = NaN;
    }
    if (storedUsd.size > 0) await this.repository.put(storedUsd, tx);
    return { results, storedUsd, storedAt };
  }

  private startTimer(): NodeJS.Timeout {
    return runAs(OWNER, () => setInterval(() => void this.renew(), RENEWAL_MS).unref());
  }

  /** Gives back what calls no longer need, and renews the rest. */
  private renew(): Promise<void> {
    this.renewal ??= this.renewLeases()
      .catch((err: unknown) => rootLogger.warn({ err }, 'reservations in budgets could not be renewed'))
      .finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  private async renewLeases(): Promise<void> {
    const storedAt = performance.now();
    const changed = new Map<string, number>();
    for (const [subject, lease] of this.leases) {
      if (lease.isBeingRaised) continue;
      lease.usd = Math.max(lease.heldUsd, lease.isUsed ? lease.usd : 0);
      lease.isUsed = false;
      const isOld = lease.usd > 0 && storedAt - lease.storedAt > RENEWAL_AGE_MS;
      if (isOld || lease.usd !== lease.storedUsd) changed.set(subject, lease.usd);
      else if (lease.calls === 0 && lease.usd === 0) this.leases.delete(subject);
    }
    for (const subject of changed.keys()) this.leases.get(subject)!.storedUsd = NaN;
    if (changed.size > 0) await this.repository.put(changed);
    for (const [subject, usd] of changed)
      Object.assign(this.leases.get(subject)!, { storedUsd: usd, storedAt });
    if (this.renewals++ % RENEWALS_PER_DELETION === 0) await this.repository.deleteExpired();
  }
}

const NEW_LEASE: Lease = {
  usd: 0,
  heldUsd: 0,
  calls: 0,
  budgetUsd: 0,
  isUsed: false,
  isBeingRaised: false,
  storedUsd: 0,
  storedAt: 0,
};

/** What a batch of requests needs of a subject's budget, in US dollars. */
interface SubjectDecision {
  plannedUsd: number;
  /** What else to reserve. 0 if a request was refused. */
  advanceUsd: number;
  budgetUsd: number;
}

interface Decision {
  results: Map<ReservationRequest, ExhaustedBudget | null>;
  subjects: Map<string, SubjectDecision>;
}

/** Decides in the order of the requests, each of which takes room from the next. */
function decide(
  requests: readonly ReservationRequest[],
  states: readonly SubjectState[],
  heldUsd: ReadonlyMap<string, number>,
): Decision {
  const subjects = new Map(
    states.map((state) => [state.subject, { ...state, plannedUsd: 0, advanceUsd: 0, budgetUsd: 0 }]),
  );
  const results = new Map<ReservationRequest, ExhaustedBudget | null>();
  for (const request of requests) {
    const { usd, replacedUsd = 0 } = request;
    const all = request.budgets.map((budget) => {
      const state = subjects.get(budget.subject)!;
      const leftUsd = budget.usd - state.spent_usd;
      const reservedUsd = state.reserved_by_others_usd + heldUsd.get(budget.subject)! + state.plannedUsd;
      state.budgetUsd = budget.usd;
      return { budget, state, leftUsd, roomUsd: leftUsd - reservedUsd };
    });
    const exhausted = all.find(({ roomUsd }) => roomUsd + replacedUsd <= 0);
    results.set(request, exhausted ? { ...exhausted.budget, leftUsd: exhausted.leftUsd } : null);
    for (const { state, roomUsd } of all) {
      if (!exhausted) state.plannedUsd += usd;
      const advanceUsd = Math.min(ADVANCE.calls * usd, ADVANCE.fraction * (roomUsd - usd));
      state.advanceUsd = exhausted ? 0 : Math.max(0, advanceUsd);
    }
  }
  return { results, subjects };
}
