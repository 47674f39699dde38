import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';

/** Room in temporary files, to be taken before it is written to and given back. */
export interface SpoolRoom {
  /** False where there is not so much left. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/**
 * What the temporary files of a process may hold together: `SPOOL_LIMIT_BYTES`. One organization may have half of it, so
 * that one which sends much, or slowly, does not keep the others out.
 */
@Injectable()
export class SpoolSpace {
  private taken = 0;
  private readonly takenBy = new Map<string, number>();

  constructor(private readonly environment: Environment) {}

  roomOf(owner: string): SpoolRoom {
    return {
      take: (bytes) => this.take(owner, bytes),
      give: (bytes) => this.add(owner, -bytes),
    };
  }

  private take(owner: string, bytes: number): boolean {
    const { SPOOL_LIMIT_BYTES: limit } = this.environment;
    const own = this.takenBy.get(owner) ?? 0;
    if (this.taken + bytes > limit || own + bytes > limit / 2) return false;
    this.add(owner, bytes);
    return true;
  }

  private add(owner: string, bytes: number): void {
    this.taken += bytes;
    const own = (this.takenBy.get(owner) ?? 0) + bytes;
    if (own > 0) this.takenBy.set(owner, own);
    else this.takenBy.delete(owner);
  }
}
