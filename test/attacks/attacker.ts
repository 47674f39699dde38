import http from 'node:http';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Time in milliseconds after which a request counts as timed out. Longer than any limit of the service. */
const TIMEOUT_MS = 180_000;
/** Maximum number of bytes of a response that an attacker keeps. */
const KEPT_BYTES = 64 * 1024;

/** A service, and a caller of it. */
export interface Target {
  host: string;
  port: number;
  /** Access token with all roles in the organization. */
  token: string;
  /** Empty for requests outside a workspace. */
  workspaceId: string;
}

export interface Received {
  /** 0 if the connection was closed without a response, -1 after a timeout. */
  status: number;
  /** The beginning of the body. */
  text: string;
}

export interface RequestOptions {
  body?: Buffer | string;
  type?: string;
  headers?: Record<string, string>;
  /** Writes the body in pieces, or aborts the request. By default, `body` is sent at once. */
  write?: (request: http.ClientRequest) => void;
  /** Milliseconds until the request counts as timed out. */
  timeoutMs?: number;
}

/** Number of responses by status and code: `200`, `503 service_overloaded`, `closed`, `timed out`. */
export type Tally = Record<string, number>;

/** Sends requests as one caller, each on a new connection, and counts the responses. */
export class Attacker {
  readonly responses: Tally = {};

  constructor(readonly target: Target) {}

  count(label: string, times = 1): void {
    this.responses[label] = (this.responses[label] ?? 0) + times;
  }

  /** Sends a request and reads the response. Never throws. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Received> {
    const received = await this.exchange(method, path, options, KEPT_BYTES);
    this.count(labelOf(received));
    return received;
  }

  /**
   * Sends JSON that prepares an attack. Requires a 2xx response, and does not count it. Retries while an earlier attack
   * still uses the organization's share.
   */
  async prepare<Body = any>(method: string, path: string, body?: unknown, retries = 60): Promise<Body> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, text } = await this.exchange(method, path, sent, Infinity);
    if (status === 503 && retries > 0) {
      await delay(1_000);
      return this.prepare(method, path, body, retries - 1);
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

  /** Opens a connection and writes bytes to it. */
  connect(bytes: Buffer | string = '', { reads = true } = {}): Connection {
    return new Connection(this, bytes, reads);
  }

  /** Opens connections, 100 every 50 ms, keeps them open for `ms`, and closes them. */
  async hold(connections: number, ms: number, open: () => Connection): Promise<Connection[]> {
    const opened: Connection[] = [];
    for (let n = 0; n < connections; n++) {
      opened.push(open());
      if (n % 100 === 99) await delay(50);
    }
    await delay(ms);
    for (const connection of opened) connection.close();
    return opened;
  }

  private exchange(
    method: string,
    path: string,
    options: RequestOptions,
    keptBytes: number,
  ): Promise<Received> {
    const { host, port } = this.target;
    const { body, type = 'application/json', write, timeoutMs = TIMEOUT_MS } = options;
    return new Promise((resolve) => {
      const bytes = body === undefined ? undefined : Buffer.from(body as Buffer);
      const described = bytes === undefined ? {} : { 'content-type': type, 'content-length': bytes.length };
      const headers = { ...this.headers, ...described, ...options.headers };
      const request = http.request({ host, port, method, path, headers, agent: false });
      const end = (received: Received): void => {
        clearTimeout(timer);
        request.destroy();
        resolve(received);
      };
      const timer = setTimeout(() => end({ status: -1, text: '' }), timeoutMs);
      request.on('error', () => end({ status: 0, text: '' }));
      request.on('close', () => end({ status: 0, text: '' }));
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        const status = response.statusCode!;
        const finish = (): void => end({ status, text: Buffer.concat(chunks).toString() });
        response.on('data', (chunk: Buffer) => {
          if (length < keptBytes) chunks.push(chunk);
          length += chunk.length;
        });
        response.on('end', finish);
        response.on('error', finish); // the service has responded and closed the connection
      });
      if (write) write(request);
      else request.end(bytes);
    });
  }
}

/** A connection on which an attack writes raw bytes. */
export class Connection {
  private readonly socket: net.Socket;
  private tail = '';
  private received = '';
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
    this.socket.on('error', () => undefined); // 'close' follows
    this.closing = new Promise((resolve) => {
      this.socket.once('close', () => {
        if (!this.isClosed) this.attacker.count('closed');
        this.isClosed = true;
        resolve();
      });
    });
    if (bytes.length > 0) this.socket.write(bytes);
  }

  /** The first bytes that were read. */
  get text(): string {
    return this.received;
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

  /** Waits until this many responses have been read, the service has closed the connection, or `ms` have passed. */
  async waitForResponses(count: number, ms = TIMEOUT_MS): Promise<void> {
    const until = Date.now() + ms;
    while (this.count < count && !this.isClosed) {
      if (Date.now() > until) return this.attacker.count('timed out', count - this.count);
      await Promise.race([this.closing, delay(20)]);
    }
  }

  private read(chunk: Buffer): void {
    const text = this.tail + chunk.toString('latin1');
    if (this.received.length < KEPT_BYTES) this.received += chunk.toString('latin1');
    for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      this.count++;
      this.attacker.count(status!);
    }
    // may contain the beginning of a status line, but is too short for a whole one
    this.tail = text.slice(-12);
  }
}

function labelOf({ status, text }: Received): string {
  if (status <= 0) return status === 0 ? 'closed' : 'timed out';
  if (status < 400) return String(status);
  const code = /"code":\s*"(\w+)"/.exec(text)?.[1];
  return code ? `${status} ${code}` : String(status);
}

/** Returns whether a label stands for a response that the service must not send, because it is not documented. */
export const isUndocumented = (label: string): boolean =>
  !/^(2|3|4)\d\d( |$)|^503( service_overloaded| service_unavailable| storage_unavailable)?$|^504( |$)|^closed$/.test(
    label,
  );
