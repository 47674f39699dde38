import { Injectable } from '@nestjs/common';
import { FairQueue } from '../scorers/engine/pool/fair.queue';

/** Comparisons that a process works out at once; each may hold some ten MiB of scores. */
const AT_ONCE = 2;

/** Has comparisons wait for each other, so that many of them at once take no more memory. Workspaces take turns. */
@Injectable()
export class ComputingTurns {
  private underWay = 0;
  private readonly waiting = new FairQueue<() => void>();

  async take<Result>(workspaceId: string, work: () => Promise<Result>): Promise<Result> {
    if (this.underWay >= AT_ONCE) {
      await new Promise<void>((resolve) => this.waiting.push(workspaceId, resolve));
    } else {
      this.underWay++;
    }
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.underWay--;
    }
  }
}
