import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';

/** The key set of an identity provider, over HTTP. */
export class JwksServer {
  /** Number of requests so far. */
  requestCount = 0;
  keys: JWK[] = [];
  /** Responds instead of the server, if set. */
  answer: http.RequestListener | null = null;

  private constructor(
    private readonly server: http.Server,
    readonly url: string,
  ) {
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      this.requestCount += 1;
      if (this.answer) return this.answer(request, response);
      response.setHeader('content-type', 'application/jwk-set+json').end(JSON.stringify({ keys: this.keys }));
    });
  }

  static async start(): Promise<JwksServer> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new JwksServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
