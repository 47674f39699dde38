import type { Response } from 'express';
import { problem } from '#platform/problem';

/** Takes so many bytes more, until the answer is out. Error: 503 `service_overloaded` where there is no room for them. */
export type HoldBytes = (bytes: number) => void;

/** What bodies of one kind may take of the memory together. One organization may have half of it. */
export class BodyRoom {
  private taken = 0;
  private readonly takenBy = new Map<string, number>();

  /**
   * @param roomBytes of all of them
   * @param detail of the problem, where there is no more of it
   * @param onChange is told how many are taken
   */
  constructor(
    private readonly roomBytes: number,
    private readonly detail: string,
    private readonly onChange: (taken: number) => void = () => undefined,
  ) {}

  /** Bytes that are taken. */
  get size(): number {
    return this.taken;
  }

  /**
   * For one body, until its answer is out. A body larger than the room is let in where it is alone.
   *
   * @param owner organization
   */
  holder(owner: string, response: Response): HoldBytes {
    let held = 0;
    let isOver = response.closed || response.destroyed;
    response.once('close', () => {
      isOver = true;
      this.add(owner, -held);
    });
    return (bytes) => {
      const own = this.takenBy.get(owner) ?? 0;
      const isFull = this.taken > held && this.taken + bytes > this.roomBytes;
      if (isFull || (own > held && own + bytes > this.roomBytes / 2)) throw problem.overloaded(this.detail);
      if (isOver) return;
      held += bytes;
      this.add(owner, bytes);
    };
  }

  private add(owner: string, bytes: number): void {
    this.taken += bytes;
    const own = (this.takenBy.get(owner) ?? 0) + bytes;
    if (own > 0) this.takenBy.set(owner, own);
    else this.takenBy.delete(owner);
    this.onChange(this.taken);
  }
}
