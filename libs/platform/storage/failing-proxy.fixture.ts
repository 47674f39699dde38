import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What the proxy does with a request that fails. */
export type Fault =
  /** Returns 500. */
  | 'error'
  /** Returns 503, as S3 does under load. */
  | 'slow down'
  /** Never responds. */
  | 'hang'
  /** Stalls in the middle of the response. */
  | 'stall'
  /** Resets the connection in the middle of the response. */
  | 'reset'
  /** Ends the response in the middle, as if it were complete. */
  | 'truncate'
  /** Changes a byte of the response. */
  | 'flip response'
  /** Changes a byte of the request. */
  | 'flip request'
  /** Lets the request through, and resets the connection instead of responding. */
  | 'lose response';

const SLOW_DOWN = '<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>';
const INTERNAL = '<Error><Code>InternalError</Code><Message>Try again.</Message></Error>';

/** An HTTP proxy to an S3 service that fails on demand. */
export class FailingProxy {
  private readonly sockets = new Set<Socket>();
  private fault: Fault | undefined;
  private matches: (request: string) => boolean = () => false;
  private failedCount = 0;

  private constructor(
    private readonly server: http.Server,
    private readonly target: URL,
  ) {}

  static async to(endpoint: string): Promise<FailingProxy> {
    const server = http.createServer();
    const proxy = new FailingProxy(server, new URL(endpoint));
    server.on('request', (request, response) => void proxy.pass(request, response));
    // The body is passed on unconditionally, so the client need not wait for the target.
    server.on('checkContinue', (request, response: http.ServerResponse) => {
      response.writeContinue();
      void proxy.pass(request, response);
    });
    server.on('connection', (socket) => {
      proxy.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => proxy.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Requests that failed since the last `fail`. */
  get failed(): number {
    return this.failedCount;
  }

  /** Fails matching requests from now on. @param matches gets method and URL, such as `PUT /bucket/key?partNumber=1` */
  fail(fault: Fault, matches: (request: string) => boolean): void {
    this.fault = fault;
    this.matches = matches;
    this.failedCount = 0;
  }

  restore(): void {
    this.fault = undefined;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const isFailing = this.fault !== undefined && this.matches(`${request.method} ${request.url}`);
    const fault = isFailing ? this.fault : undefined;
    if (fault) this.failedCount++;
    if (fault === 'hang') return;
    try {
      const body = Buffer.concat(await request.toArray());
      if (fault === 'error') return void response.writeHead(500).end(INTERNAL);
      if (fault === 'slow down') return void response.writeHead(503).end(SLOW_DOWN);
      if (fault === 'flip request') flip(body);
      const { status, headers, content } = await this.ask(request, body);
      if (fault === 'lose response') return void request.socket.destroy();
      if (fault === 'flip response') flip(content);
      const half = content.subarray(0, Math.ceil(content.length / 2));
      if (fault === 'truncate') headers['content-length'] = String(half.length);
      response.writeHead(status, headers);
      if (fault === 'truncate') response.end(half);
      else if (fault === 'stall') response.write(half);
      else if (fault === 'reset') response.write(half, () => request.socket.resetAndDestroy());
      else response.end(content);
    } catch {
      request.socket.destroy();
    }
  }

  private ask(
    { method, url, headers }: http.IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: http.OutgoingHttpHeaders; content: Buffer }> {
    const { hostname, port } = this.target;
    const { expect: _, ...passed } = headers;
    return new Promise((resolve, reject) => {
      // the Host header stays unchanged, because the client has signed it
      const forwarded = http.request({ hostname, port, method, path: url, headers: passed }, (answer) => {
        answer.toArray().then(
          (chunks) =>
            resolve({
              status: answer.statusCode!,
              headers: { ...answer.headers },
              content: Buffer.concat(chunks as Buffer[]),
            }),
          reject,
        );
      });
      forwarded.on('error', reject).end(body);
    });
  }
}

function flip(bytes: Buffer): void {
  const middle = bytes.length >> 1;
  if (bytes.length > 0) bytes[middle] = bytes[middle]! ^ 1;
}
