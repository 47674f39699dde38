// A server between a client and the service, with faults from a script. The tests of every client use it; as a program:
//   node dist/test/clients/fault-server.js '{"target": "http://localhost:8080", "script": [{"action": "status", "status": 503}]}'
// prints its URL and serves until its standard input ends.
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** One step of a script. It applies to the next requests that match it. */
export interface Fault {
  /**
   * `status` answers with `status`; `reset` breaks the connection before the request is processed; `lose` lets the target
   * process the request, and breaks the connection instead of answering; `cut` breaks it in the middle of the answer; `slow`
   * answers after `delayMs`; `pass` forwards the request, so that the steps after it apply to later ones.
   */
  action: 'status' | 'reset' | 'lose' | 'cut' | 'slow' | 'pass';
  /** To how many requests it applies (1). */
  times?: number;
  /** Requests with this method, and whose path matches this regular expression. */
  method?: string;
  path?: string;
  status?: number;
  headers?: Record<string, string>;
  /** A JSON body. By default a problem with the status and the code `scripted`. */
  body?: unknown;
  delayMs?: number;
}

/** A request as the server received it. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Processed {
  status: number;
  headers: http.OutgoingHttpHeaders;
  body: Buffer;
}

export class FaultServer {
  /** Every request, in order. */
  readonly seen: SeenRequest[] = [];
  /** Number of requests that were processed. */
  processed = 0;
  /** While it is true, every connection is broken. */
  isAway = false;
  private steps: Fault[] = [];

  private constructor(
    private readonly server: http.Server,
    private readonly target: URL | null,
  ) {
    server.on('connection', (socket) => {
      if (this.isAway) socket.resetAndDestroy();
    });
    server.on('request', (request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  /** @param target the URL of the service. Without one, every request is answered with `{}` */
  static async start(target: string | null = null, script: readonly Fault[] = []): Promise<FaultServer> {
    const server = http.createServer({ keepAlive: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const faults = new FaultServer(server, target === null ? null : new URL(target));
    faults.play(script);
    return faults;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Replaces the script, and forgets the requests so far. */
  play(script: readonly Fault[]): void {
    this.steps = script.map((step) => ({ times: 1, ...step }));
    this.seen.length = 0;
    this.processed = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = 'GET', url: path = '/', headers } = request;
    this.seen.push({ method, path, headers, body: body.toString() });
    const fault = this.isAway ? ({ action: 'reset' } as const) : this.nextFault(method, path);
    if (fault.action === 'reset') return void request.socket.resetAndDestroy();
    if (fault.action === 'status') return answer(response, scripted(fault));
    if (fault.action === 'slow') await delay(fault.delayMs ?? 0);
    const processed = await this.process(method, path, headers, body);
    if (fault.action === 'lose') return void request.socket.resetAndDestroy();
    if (fault.action === 'cut') {
      response.writeHead(processed.status, { ...processed.headers, 'content-length': processed.body.length });
      response.write(processed.body.subarray(0, processed.body.length >> 1));
      return void setImmediate(() => request.socket.resetAndDestroy());
    }
    answer(response, processed);
  }

  private nextFault(method: string, path: string): Fault {
    const step = this.steps.find(
      (each) =>
        each.times! > 0 &&
        (each.method ?? method) === method &&
        (each.path === undefined || new RegExp(each.path).test(path)),
    );
    if (!step) return { action: 'pass' };
    step.times!--;
    return step;
  }

  private async process(
    method: string,
    path: string,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Processed> {
    this.processed++;
    if (!this.target)
      return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') };
    const { host: _host, connection: _connection, ...forwarded } = headers;
    const sending = http.request(new URL(path, this.target), { method, headers: forwarded, agent: false });
    sending.end(body);
    const [received] = (await once(sending, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of received) chunks.push(chunk as Buffer);
    const { 'transfer-encoding': _encoding, connection: _closed, ...kept } = received.headers;
    return { status: received.statusCode ?? 500, headers: kept, body: Buffer.concat(chunks) };
  }
}

function answer(response: ServerResponse, { status, headers, body }: Processed): void {
  response.writeHead(status, headers).end(body);
}

function scripted({ status = 503, headers = {}, body }: Fault): Processed {
  const problem = { title: 'Scripted', status, code: 'scripted', detail: 'A fault of the test.', errors: [] };
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: Buffer.from(JSON.stringify(body ?? problem)),
  };
}

async function main(): Promise<void> {
  const { target, script } = JSON.parse(process.argv[2] ?? '{}') as { target?: string; script?: Fault[] };
  const server = await FaultServer.start(target, script);
  process.stdout.write(`${server.url}\n`);
  process.stdin.resume();
  await once(process.stdin, 'end');
  await server.close();
}

if (require.main === module) void main();
