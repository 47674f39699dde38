import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { problem } from '#platform/problem';

/** What bodies that were decoded may take of the memory together. One organization may have half of it. */
const ROOM_BYTES = 64 * 1024 * 1024;

/**
 * Bounds what bodies in a content coding come to once they are decoded: a few bytes that were sent can be a thousand
 * times as many, for as long as their request takes. What is as large as it was sent needs no such bound.
 */
@Injectable()
export class DecodedSpace {
  private taken = 0;
  private readonly takenBy = new Map<string, number>();

  /**
   * Takes room until the answer is out. A body larger than the room is let in where it is alone. Error: 503
   * `service_overloaded` where there is not so much left.
   *
   * @param owner organization
   * @param bytes that the body has decoded
   */
  hold(owner: string, bytes: number, response: Response): void {
    const own = this.takenBy.get(owner) ?? 0;
    const isFull = this.taken > 0 && this.taken + bytes > ROOM_BYTES;
    if (isFull || (own > 0 && own + bytes > ROOM_BYTES / 2)) {
      throw problem.overloaded('Too many large encoded bodies are dealt with at once. Send it again later.');
    }
    if (response.closed || response.destroyed) return;
    this.add(owner, bytes);
    response.once('close', () => this.add(owner, -bytes));
  }

  private add(owner: string, bytes: number): void {
    this.taken += bytes;
    const own = (this.takenBy.get(owner) ?? 0) + bytes;
    if (own > 0) this.takenBy.set(owner, own);
    else this.takenBy.delete(owner);
  }
}
