import { JudgeFailure } from './judge-failure';

/** The time that the judging of one target has, but for what it spends waiting for its turn. */
export class TargetDeadline {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private leftMs: number;
  private runsSince = 0;
  /** Aborted when the time is over, with what is to be told of it. */
  readonly signal = this.controller.signal;

  constructor(private readonly seconds: number) {
    this.leftMs = seconds * 1000;
    this.run();
  }

  /** Milliseconds. */
  left(): number {
    return this.timer ? this.leftMs - (performance.now() - this.runsSince) : this.leftMs;
  }

  /** Waits for something while the clock stands still. */
  async pausedFor<Result>(waiting: () => Promise<Result>): Promise<Result> {
    this.leftMs = this.left();
    this.end();
    try {
      return await waiting();
    } finally {
      this.run();
    }
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private run(): void {
    this.runsSince = performance.now();
    const over = new JudgeFailure(`The judge gave no answer that counts within ${this.seconds} s.`);
    this.timer = setTimeout(() => this.controller.abort(over), Math.max(0, this.leftMs));
  }
}
