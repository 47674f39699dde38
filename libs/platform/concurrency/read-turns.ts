import { FairQueue, type OwnerPath } from './fair-queue';

/** Bytes that connections may receive in one turn of the event loop before they wait. */
const BYTES_PER_TURN = 256 * 1024;
/** Waiting connections that continue in one turn. */
const RESUMED_PER_TURN = 4;

/**
 * Lets connections take turns while many of them send large bodies. Node reads up to 2 MiB from each readable connection in one
 * turn of its event loop, so that 250 uploads at once would make everybody else's requests wait for 500 MiB. Owners take turns
 * too, so that the uploads of one organization do not delay another's.
 */
export class ReadTurns {
  private readonly waiting = new FairQueue<() => void>();
  /** Bytes received in this turn. */
  private bytes = 0;
  /** Whether a connection was accepted in this turn. */
  private hasAccepted = false;
  private endOfTurn: NodeJS.Immediate | undefined;

  /** Call it for each new connection. */
  accepted(): void {
    this.hasAccepted = true;
  }

  /** Counts received bytes. Returns false if the turn has no bytes left; the connection then waits. */
  take(bytes: number): boolean {
    this.endOfTurn ??= setImmediate(() => this.beginTurn());
    this.bytes += bytes;
    return this.bytes <= BYTES_PER_TURN;
  }

  /** Calls `resume` when it is the owner's turn. */
  wait(owner: OwnerPath, resume: () => void): void {
    this.waiting.push(owner, resume);
  }

  private beginTurn(): void {
    this.endOfTurn = undefined;
    this.bytes = 0;
    const resumed = this.hasAccepted ? 1 : RESUMED_PER_TURN;
    this.hasAccepted = false;
    for (let n = 0; n < resumed && this.waiting.size > 0; n++) {
      this.waiting.shift()!();
    }
    if (this.waiting.size > 0) this.endOfTurn ??= setImmediate(() => this.beginTurn());
  }
}
