import { JudgeFailure } from './judge-failure';

/** The time that the judging of one target has, from its first request on. */
export class TargetDeadline {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly endsAt: number;
  /** Aborted when the time is over, with what is to be told of it. */
  readonly signal = this.controller.signal;

  constructor(seconds: number) {
    this.endsAt = performance.now() + seconds * 1000;
    const over = new JudgeFailure(`The judge gave no answer that counts within ${seconds} s.`);
    this.timer = setTimeout(() => this.controller.abort(over), seconds * 1000);
  }

  /** Milliseconds. */
  left(): number {
    return this.endsAt - performance.now();
  }

  end(): void {
    clearTimeout(this.timer);
  }
}
