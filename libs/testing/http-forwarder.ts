import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A request that a forwarder has forwarded. */
export interface Forwarded {
  /** The origin that received it. */
  to: string;
  method: string;
  headers: IncomingHttpHeaders;
}

/**
 * A load balancer in the test's process. It sends each request unchanged, including `Host` and `Origin`, to the next of its
 * targets, on a separate connection. It can add headers.
 */
export class HttpForwarder {
  readonly forwarded: Forwarded[] = [];
  private next = 0;

  private constructor(
    private readonly server: http.Server,
    private readonly targets: readonly URL[],
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    server.on('request', (request, response) => this.forward(request, response));
  }

  static async to(
    targets: readonly string[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpForwarder> {
    const server = http.createServer();
    const forwarder = new HttpForwarder(
      server,
      targets.map((target) => new URL(target)),
      headers,
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return forwarder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(request: IncomingMessage, response: ServerResponse): void {
    const target = this.targets[this.next++ % this.targets.length]!;
    const { method = 'GET', url = '/', headers } = request;
    this.forwarded.push({ to: target.origin, method, headers });
    const sending = http.request(new URL(url, target), {
      method,
      headers: { ...headers, ...this.headers },
      agent: false,
    });
    sending.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    sending.on('error', () => response.destroy());
    response.on('close', () => sending.destroy());
    request.pipe(sending);
  }
}
