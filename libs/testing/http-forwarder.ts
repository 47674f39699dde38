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

/** Returns the index of the target for a request. `count` is the number of requests before it. */
type ChooseTarget = (url: string, count: number) => number;

/**
 * A load balancer in the test's process. It sends each request unchanged, including `Host` and `Origin`, to the next of its
 * targets, or to the one that `choose` returns, on a separate connection. It can add headers.
 */
export class HttpForwarder {
  readonly forwarded: Forwarded[] = [];

  private constructor(
    private readonly server: http.Server,
    private readonly targets: readonly URL[],
    private readonly headers: Readonly<Record<string, string>>,
    private readonly choose: ChooseTarget,
  ) {
    server.on('request', (request, response) => this.forward(request, response));
  }

  static async to(
    targets: readonly string[],
    headers: Readonly<Record<string, string>> = {},
    choose: ChooseTarget = (_, count) => count % targets.length,
  ): Promise<HttpForwarder> {
    const server = http.createServer();
    const forwarder = new HttpForwarder(
      server,
      targets.map((target) => new URL(target)),
      headers,
      choose,
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
    const { method = 'GET', url = '/', headers } = request;
    const target = this.targets[this.choose(url, this.forwarded.length)]!;
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
