import {
  agree,
  type JudgedApp,
  type JudgeReply,
  sharedJudge,
  TestJudge,
  type TestJudgeRequest,
} from '#testing';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { resetJudge } from './judge.fixture';

/** A scorer that asks a judge about the input of a target. */
export const JUDGE = {
  scorer_kind: 'llm_judge',
  definition: { prompt: 'judge: {{input}}', output: { type: 'boolean' } },
};

interface HeldRequest {
  request: TestJudgeRequest;
  answer: (reply: JudgeReply) => void;
}

/** A judge that holds requests until the test releases them. */
export class Gate {
  private heldRequests: HeldRequest[] = [];
  private waiters: (() => void)[] = [];
  private isOpen = false;

  constructor(readonly judge: TestJudge) {
    this.reset();
  }

  static async listen(): Promise<Gate> {
    return new Gate(await TestJudge.listen());
  }

  get env(): Record<string, string> {
    return this.judge.env;
  }

  /** The requests so far, in order. */
  get requests(): TestJudgeRequest[] {
    return this.judge.requests;
  }

  /** The highest number of requests held at the same time so far. */
  get peak(): number {
    return this.judge.peak;
  }

  get heldCount(): number {
    return this.heldRequests.length;
  }

  /** Answers all held requests, and holds new ones. */
  reset(): void {
    this.release();
    this.judge.reset();
    this.judge.reply = (request) => this.take(request);
  }

  /** Waits until this many requests are held. */
  async holds(count: number): Promise<void> {
    while (this.heldRequests.length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /** Answers the held requests whose prompt starts with `prompt`. With `open`, also answers new requests immediately. */
  release({ open = false, prompt = '' }: { open?: boolean; prompt?: string } = {}): void {
    this.isOpen = open;
    const released = this.heldRequests.filter(({ request }) => request.prompt.startsWith(prompt));
    this.heldRequests = this.heldRequests.filter((entry) => !released.includes(entry));
    for (const entry of released) entry.answer(agree(entry.request));
  }

  async close(): Promise<void> {
    this.release({ open: true });
    await this.judge.close();
  }

  private take(request: TestJudgeRequest): JudgeReply | Promise<JudgeReply> {
    if (this.isOpen) return agree(request);
    return new Promise((resolve) => {
      const entry = { request, answer: resolve };
      this.heldRequests.push(entry);
      request.closed.addEventListener('abort', () => {
        this.heldRequests = this.heldRequests.filter((one) => one !== entry);
      });
      for (const wake of this.waiters.splice(0)) wake();
    });
  }
}

/** A service whose judge holds requests, for one test. */
export interface GatedService extends JudgedApp {
  gate: Gate;
  /** A new workspace. */
  on: ScoringFixture;
}

/** Lets the shared judge hold requests for each test of a suite. */
export function withGate(use: (service: GatedService) => void): void {
  const service = sharedJudge();
  let gate: Gate;

  beforeEach(async () => {
    const { app, worker, judge } = service;
    await resetJudge(service);
    gate = new Gate(judge);
    use({ app, worker, judge, gate, on: await ScoringFixture.create(app) });
  });
  afterEach(() => gate.release({ open: true }));
}
