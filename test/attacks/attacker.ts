import http from 'node:http';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Time after which a request counts as unanswered, in milliseconds. Longer than any limit of the service. */
const PATIENCE_MS = 180_000;
/** Most bytes of an answer to an attack that are kept. */
const KEPT_BYTES = 64 * 1024;

/** A caller of a service. */
export interface Target {
  host: string;
  port: number;
  /** Access token with all roles in the organization. */
  token: string;
  /** Empty for requests outside of a workspace. */
  workspaceId: string;
}

export interface Received {
  /** 0 if the connection was closed without an answer. */
  status: number;
  /** The beginning of the body. */
  text: string;
}

export interface Sending {
  body?: Buffer | string;
  type?: string;
  headers?: Record<string, string>;
  /** Called with the request, to write its body in pieces or to abort it; else `body` is sent whole. */
  write?: (request: http.ClientRequest) => void;
  /** Milliseconds until it counts as unanswered. */
  patienceMs?: number;
}

/** Answers by status and code: `200`, `503 service_overloaded`, `closed`, `unanswered`. */
export type Tally = Record<string, number>;

/** Sends requests as one caller, each on a connection of its own, and counts the answers. */
export class Attacker {
  readonly answers: Tally = {};

  constructor(readonly target: Target) {}

  count(answer: string, times = 1): void {
    this.answers[answer] = (this.answers[answer] ?? 0) + times;
  }

  /** Sends a request and reads its answer. Never throws. */
  async send(method: string, path: string, sending: Sending = {}): Promise<Received> {
    const received = await this.exchange(method, path, sending, KEPT_BYTES);
    this.count(labelOf(received));
    return received;
  }

  /**
   * Prepares something: sends JSON that must be answered with 2xx, and does not count it. Retries while the attack before
   * still holds the organization's share.
   */
  async make<Body = any>(method: string, path: string, body?: unknown, retries = 60): Promise<Body> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, text } = await this.exchange(method, path, sent, Infinity);
    if (status === 503 && retries > 0) {
      await delay(1_000);
      return this.make(method, path, body, retries - 1);
    }
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as Body;
  }

  /** The caller's headers, for requests that are written byte by byte. */
  get headers(): Record<string, string> {
    const { host, port, token, workspaceId } = this.target;
    return {
      host: `${host}:${port}`,
      authorization: `Bearer ${token}`,
      ...(workspaceId && { 'x-service-workspace-id': workspaceId }),
    };
  }

  /** Opens a connection, and writes these bytes. */
  connect(bytes: Buffer | string = '', { reads = true } = {}): Connection {
    return new Connection(this, bytes, reads);
  }

  /** Opens this many connections within about a second, keeps them for a time, and closes them. */
  async hold(connections: number, ms: number, open: () => Connection): Promise<Connection[]> {
    const held: Connection[] = [];
    for (let n = 0; n < connections; n++) {
      held.push(open());
      if (n % 100 === 99) await delay(50);
    }
    await delay(ms);
    for (const connection of held) connection.close();
    return held;
  }

  private exchange(method: string, path: string, sending: Sending, kept: number): Promise<Received> {
    const { host, port } = this.target;
    const { body, type = 'application/json', write, patienceMs = PATIENCE_MS } = sending;
    return new Promise((resolve) => {
      const bytes = body === undefined ? undefined : Buffer.from(body as Buffer);
      const described = bytes === undefined ? {} : { 'content-type': type, 'content-length': bytes.length };
      const headers = { ...this.headers, ...described, ...sending.headers };
      const request = http.request({ host, port, method, path, headers, agent: false });
      const end = (received: Received): void => {
        clearTimeout(patience);
        request.destroy();
        resolve(received);
      };
      const patience = setTimeout(() => end({ status: -1, text: '' }), patienceMs);
      request.on('error', () => end({ status: 0, text: '' }));
      request.on('close', () => end({ status: 0, text: '' }));
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        const status = response.statusCode!;
        const answer = (): void => end({ status, text: Buffer.concat(chunks).toString() });
        response.on('data', (chunk: Buffer) => {
          if (length < kept) chunks.push(chunk);
          length += chunk.length;
        });
        response.on('end', answer);
        response.on('error', answer); // the service has answered, and closed the connection
      });
      if (write) write(request);
      else request.end(bytes);
    });
  }
}

/** A connection whose bytes are the attack's own. */
export class Connection {
  private readonly socket: net.Socket;
  private tail = '';
  private kept = '';
  private count = 0;
  private isClosed = false;
  private readonly closing: Promise<void>;

  constructor(
    private readonly attacker: Attacker,
    bytes: Buffer | string,
    reads: boolean,
  ) {
    const { host, port } = attacker.target;
    this.socket = net.connect({ host, port });
    if (reads) this.socket.on('data', (chunk: Buffer) => this.read(chunk));
    else this.socket.pause();
    this.socket.on('error', () => undefined); // what follows is 'close'
    this.closing = new Promise((resolve) => {
      this.socket.once('close', () => {
        if (!this.isClosed) this.attacker.count('closed');
        this.isClosed = true;
        resolve();
      });
    });
    if (bytes.length > 0) this.socket.write(bytes);
  }

  /** The beginning of what was read. */
  get text(): string {
    return this.kept;
  }

  get isOpen(): boolean {
    return !this.isClosed;
  }

  write(bytes: Buffer | string): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  close(): void {
    this.isClosed = true;
    this.socket.destroy();
  }

  /** Waits until this many answers were read, the service closed the connection, or `ms` have passed. */
  async answered(count: number, ms = PATIENCE_MS): Promise<void> {
    const until = Date.now() + ms;
    while (this.count < count && !this.isClosed) {
      if (Date.now() > until) return this.attacker.count('unanswered', count - this.count);
      await Promise.race([this.closing, delay(20)]);
    }
  }

  private read(chunk: Buffer): void {
    const text = this.tail + chunk.toString('latin1');
    if (this.kept.length < KEPT_BYTES) this.kept += chunk.toString('latin1');
    for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      this.count++;
      this.attacker.count(status!);
    }
    // may be the beginning of a status line, and is too short to be a whole one
    this.tail = text.slice(-12);
  }
}

function labelOf({ status, text }: Received): string {
  if (status <= 0) return status === 0 ? 'closed' : 'unanswered';
  if (status < 400) return String(status);
  const code = /"code":\s*"(\w+)"/.exec(text)?.[1];
  return code ? `${status} ${code}` : String(status);
}

/** Answers that no client may see. Everything else is documented. */
export const isUndocumented = (answer: string): boolean =>
  !/^(2|3|4)\d\d( |$)|^503( service_overloaded| service_unavailable| storage_unavailable)?$|^504( |$)|^closed$/.test(
    answer,
  );
