import { performance } from 'node:perf_hooks';
import { linkedSignal, pause } from '#platform/concurrency';

/** Minimum time, in ms, before a run yields its slot when no organization has more than one. */
const SLICE_MS = 10_000;

/** A slot that a run holds. */
export interface RunSlot {
  readonly orgId: string;
  readonly takenAt: number;
  /** Aborted when the run has lost its slot. It finishes only its targets in progress. */
  readonly yielding: AbortController;
}

/**
 * The runs that a process executes at once. One organization can have all slots but one. The last free slot is for an
 * organization that has less than half of them, and when no slot is left, an organization with more than half gives one
 * back at once, although its targets in progress may take a minute. So another organization finds a free slot, however many
 * runs the others have started.
 */
export class RunSlots {
  private readonly size: number;
  private readonly half: number;
  private readonly taken = new Set<RunSlot>();
  private freed = new AbortController();

  /** @param share slots that one organization can have */
  constructor(share: number) {
    this.size = share + 1;
    this.half = Math.floor(this.size / 2);
  }

  get freeCount(): number {
    return this.size - this.taken.size;
  }

  /** Whether a further run of an organization that has most of the slots must wait. */
  get isReserved(): boolean {
    return this.freeCount <= 1;
  }

  /** Returns the organizations that cannot take the next slot. */
  fullOrgs(): string[] {
    if (!this.isReserved) return [];
    return [...countByOrg(this.taken)].filter(([, count]) => count >= this.half).map(([orgId]) => orgId);
  }

  take(orgId: string): RunSlot {
    const slot = { orgId, takenAt: performance.now(), yielding: new AbortController() };
    this.taken.add(slot);
    return slot;
  }

  /** Frees a slot. Does nothing for a slot that was taken back. */
  release(slot: RunSlot): void {
    if (!this.taken.delete(slot)) return;
    this.freed.abort();
    this.freed = new AbortController();
  }

  /** Waits until a slot is released, `ms` have passed, or the signal is aborted. */
  async change(ms: number, signal: AbortSignal): Promise<void> {
    const either = linkedSignal(this.freed.signal, signal);
    await pause(ms, either.signal).catch(() => undefined);
    either.unlink();
  }

  /**
   * Takes slots back if none is left: that of the newest run of the organization with the most, if that is more than half, or
   * others have none. If each organization has only one, that of the run that has held its slot longest.
   *
   * @param waitingOrgs number of organizations that wait and have no run anywhere
   */
  yieldTo(waitingOrgs: number): void {
    if (this.freeCount > 0) return;
    for (let left = Math.max(this.isUneven ? 1 : 0, waitingOrgs); left > 0; left--) {
      const slot = this.slotToYield();
      if (!slot) return;
      this.release(slot);
      slot.yielding.abort();
    }
  }

  /** Whether an organization has more than half of the slots. */
  private get isUneven(): boolean {
    return Math.max(0, ...countByOrg(this.taken).values()) > this.half;
  }

  private slotToYield(): RunSlot | undefined {
    const taken = [...this.taken];
    const [most] = [...countByOrg(taken)].sort(([, a], [, b]) => b - a);
    if (!most) return undefined;
    const [orgId, count] = most;
    if (count > 1) return taken.findLast((slot) => slot.orgId === orgId);
    // sets are in the order of insertion
    const [oldest] = taken;
    return performance.now() - oldest!.takenAt >= SLICE_MS ? oldest : undefined;
  }
}

function countByOrg(slots: Iterable<RunSlot>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { orgId } of slots) counts.set(orgId, (counts.get(orgId) ?? 0) + 1);
  return counts;
}
