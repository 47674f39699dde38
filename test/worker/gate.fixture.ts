import { agree, type JudgeAsked, type JudgeReply, TestJudge } from '#testing';

/** A scorer that asks a judge about the input of a target. */
export const JUDGE = {
  scorer_kind: 'llm_judge',
  definition: { prompt: 'judge: {{input}}', output: { type: 'boolean' } },
};

interface HeldRequest {
  asked: JudgeAsked;
  answer: (reply: JudgeReply) => void;
}

/** A judge that holds requests until the test releases them. */
export class Gate {
  private held: HeldRequest[] = [];
  private waiters: (() => void)[] = [];
  private isOpen = false;

  private constructor(readonly judge: TestJudge) {
    this.reset();
  }

  static async listen(): Promise<Gate> {
    return new Gate(await TestJudge.listen());
  }

  get env(): Record<string, string> {
    return this.judge.env;
  }

  /** The requests so far, in order. */
  get asked(): JudgeAsked[] {
    return this.judge.asked;
  }

  /** The highest number of requests held at the same time so far. */
  get peak(): number {
    return this.judge.peak;
  }

  get heldCount(): number {
    return this.held.length;
  }

  /** Answers all held requests, and holds new ones. */
  reset(): void {
    this.release();
    this.judge.reset();
    this.judge.reply = (asked) => this.take(asked);
  }

  /** Waits until this many requests are held. */
  async holds(count: number): Promise<void> {
    while (this.held.length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /** Answers the held requests whose prompt starts with `prompt`. With `open`, also answers new requests immediately. */
  release({ open = false, prompt = '' }: { open?: boolean; prompt?: string } = {}): void {
    this.isOpen = open;
    const released = this.held.filter(({ asked }) => asked.prompt.startsWith(prompt));
    this.held = this.held.filter((entry) => !released.includes(entry));
    for (const entry of released) entry.answer(agree(entry.asked));
  }

  async close(): Promise<void> {
    this.release({ open: true });
    await this.judge.close();
  }

  private take(asked: JudgeAsked): JudgeReply | Promise<JudgeReply> {
    if (this.isOpen) return agree(asked);
    return new Promise((resolve) => {
      const entry = { asked, answer: resolve };
      this.held.push(entry);
      asked.closed.addEventListener('abort', () => {
        this.held = this.held.filter((one) => one !== entry);
      });
      for (const wake of this.waiters.splice(0)) wake();
    });
  }
}
