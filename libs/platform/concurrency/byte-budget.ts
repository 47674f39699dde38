import { problem } from '#platform/problem';

export interface ByteBudgetOptions {
  /** Bytes that all leases may hold together. */
  total: number;
  /** Bytes that one owner may hold. Default: the total. */
  share?: number;
  /** Lets a lease exceed the budget while no other lease, or no other lease of its owner, holds any bytes. */
  admitsOversized?: boolean;
  /** Detail of the 503 problem. */
  detail?: string;
  /** Receives the number of bytes in use after each change. */
  onChange?: (used: number) => void;
}

/** Bytes held by one piece of work, until it releases them. */
export interface ByteLease {
  /** Bytes held. */
  readonly bytes: number;
  /** Takes more bytes. Throws 503 `service_overloaded` with `Retry-After` when they do not fit. */
  grow(bytes: number): void;
  /** Takes more bytes and returns true, or takes none and returns false. */
  tryGrow(bytes: number): boolean;
  /** Changes the number of bytes held and returns true, or changes nothing and returns false. */
  tryResize(bytes: number): boolean;
  /** Releases all bytes. Later calls of `grow` take nothing, because the work is over. */
  release(): void;
}

/** Limits the bytes that pieces of work hold together, and the share of any one owner, such as an organization. */
export class ByteBudget {
  private usedBytes = 0;
  private readonly usedByOwner = new Map<string, number>();

  constructor(private readonly options: ByteBudgetOptions) {}

  /** Bytes in use. */
  get used(): number {
    return this.usedBytes;
  }

  /** Bytes in use by an owner. */
  usedBy(owner: string): number {
    return this.usedByOwner.get(owner) ?? 0;
  }

  /** Whether an owner has used 90% of its share, so that its further work would probably not fit. */
  isNearlyExhausted(owner: string): boolean {
    const { total, share = total } = this.options;
    return this.usedBy(owner) > share * 0.9;
  }

  /** Returns a lease for an owner, holding this many bytes. Throws 503 `service_overloaded` when they do not fit. */
  acquire(owner: string, bytes = 0): ByteLease {
    const lease = this.lease(owner);
    lease.grow(bytes);
    return lease;
  }

  private lease(owner: string): ByteLease {
    let leaseBytes = 0;
    let isReleased = false;
    const tryGrow = (bytes: number): boolean => {
      if (isReleased) return true;
      if (!this.fits(owner, leaseBytes, bytes)) return false;
      leaseBytes += bytes;
      this.add(owner, bytes);
      return true;
    };
    return {
      get bytes() {
        return leaseBytes;
      },
      tryGrow,
      tryResize: (bytes) => {
        if (bytes >= leaseBytes || isReleased) return tryGrow(bytes - leaseBytes);
        this.add(owner, bytes - leaseBytes);
        leaseBytes = bytes;
        return true;
      },
      grow: (bytes) => {
        if (tryGrow(bytes)) return;
        throw problem.overloaded(
          this.options.detail ?? 'The service is at its memory limit. Try again later.',
        );
      },
      release: () => {
        isReleased = true;
        this.add(owner, -leaseBytes);
        leaseBytes = 0;
      },
    };
  }

  private fits(owner: string, leaseBytes: number, bytes: number): boolean {
    const { total, share = total, admitsOversized = false } = this.options;
    const used = this.usedBy(owner);
    const isWithin = (limit: number, inUse: number): boolean =>
      inUse + bytes <= limit || (admitsOversized && inUse === leaseBytes);
    return isWithin(total, this.usedBytes) && isWithin(share, used);
  }

  private add(owner: string, bytes: number): void {
    if (bytes === 0) return;
    this.usedBytes += bytes;
    const used = this.usedBy(owner) + bytes;
    if (used > 0) this.usedByOwner.set(owner, used);
    else this.usedByOwner.delete(owner);
    this.options.onChange?.(this.usedBytes);
  }
}
