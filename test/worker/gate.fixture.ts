import { agree, type JudgeAsked, type JudgeReply, TestJudge } from '#testing';

/** A scorer that asks a judge about the input of a target. */
export const JUDGE = {
  scorer_kind: 'llm_judge',
  definition: { prompt: 'judge: {{input}}', output: { type: 'boolean' } },
};

interface Held {
  asked: JudgeAsked;
  answer: (reply: JudgeReply) => void;
}

/** A judge that answers when it is told to. */
export class Gate {
  private held: Held[] = [];
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

  /** What it was asked, in order. */
  get asked(): JudgeAsked[] {
    return this.judge.asked;
  }

  /** Most requests that were ever held at once. */
  get peak(): number {
    return this.judge.peak;
  }

  get heldCount(): number {
    return this.held.length;
  }

  /** Answers what is held, and holds what comes from then on. */
  reset(): void {
    this.release();
    this.judge.reset();
    this.judge.reply = (asked) => this.take(asked);
  }

  /** Waits until this many requests are held at once. */
  async holds(count: number): Promise<void> {
    while (this.held.length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /** Answers what is held, or of that what a prompt begins with, and with `open` all that comes later. */
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
