import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ScoringSubject } from '../../src/evaluation/scorers/engine/score-outcome';
import { type JudgeBackend, JudgeBackends } from '../../src/evaluation/scoring/judge-backends';
import type { ScoredItem } from '../../src/evaluation/scoring/scored-item';

/** A judge outside of the service: an HTTP server that answers when it is told to. */
export class Gate {
  private held: { prompt: unknown; response: http.ServerResponse }[] = [];
  private waiters: (() => void)[] = [];
  private isOpen = false;
  /** What it was asked, in order. */
  readonly asked: unknown[] = [];
  /** By which prompts, in the same order. */
  readonly prompts: unknown[] = [];
  /** Most requests that were ever held at once. */
  peak = 0;

  private constructor(private readonly server: http.Server) {
    server.on('request', (request, response) => void this.take(request, response));
  }

  static async listen(): Promise<Gate> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Gate(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get heldCount(): number {
    return this.held.length;
  }

  /** Waits until this many requests are held at once. */
  async holds(count: number): Promise<void> {
    while (this.held.length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /** Answers what is held, or of that what one prompt asked, and with `open` all that comes later. */
  release({ open = false, prompt }: { open?: boolean; prompt?: string } = {}): void {
    this.isOpen = open;
    const asked = this.held.filter((entry) => prompt === undefined || entry.prompt === prompt);
    this.held = this.held.filter((entry) => !asked.includes(entry));
    for (const { response } of asked) answer(response);
  }

  async close(): Promise<void> {
    this.release({ open: true });
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { prompt, input } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    this.asked.push(input);
    this.prompts.push(prompt);
    if (this.isOpen) return answer(response);
    const entry = { prompt, response };
    this.held.push(entry);
    this.peak = Math.max(this.peak, this.held.length);
    response.once('close', () => {
      const at = this.held.indexOf(entry);
      if (at >= 0) this.held.splice(at, 1);
    });
    for (const wake of this.waiters.splice(0)) wake();
  }
}

const answer = (response: http.ServerResponse): void => void response.end('1');

/** Asks the gate about the input of a target, by the prompt of the definition. */
class GateJudge implements JudgeBackend {
  constructor(private readonly url: string) {}

  preview(): unknown {
    return { url: this.url };
  }

  async judge(definition: unknown, subject: ScoringSubject, signal: AbortSignal): Promise<ScoredItem> {
    const { prompt } = definition as { prompt: string };
    const body = JSON.stringify({ prompt, input: subject.input });
    const answered = await fetch(this.url, { method: 'POST', body, signal });
    return { score: Number(await answered.text()), elapsed_ms: 1 };
  }
}

/** A scorer that asks a judge. */
export const JUDGE = {
  scorer_kind: 'llm_judge',
  definition: { prompt: '{{output}}', output: { type: 'boolean' } },
};

interface Process {
  get<Type>(type: abstract new (...args: never[]) => Type): Type;
}

/** Has a process's judges ask the gate. */
export const askGate = (gate: Gate, ...processes: Process[]): void => {
  for (const one of processes) one.get(JudgeBackends).register('llm', new GateJudge(gate.url));
};
