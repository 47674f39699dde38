import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { Metrics } from './metrics';

const HEADERS_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 50;

/**
 * Serves `GET /metrics` at `METRICS_HOST` and `METRICS_PORT`, without authentication. Responds even while the API sheds
 * requests or the database is unavailable, and stops last.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: http.Server | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly metrics: Metrics,
  ) {}

  /** The port that the server listens on; null if it does not listen. */
  get port(): number | null {
    return (this.server?.address() as AddressInfo | undefined | null)?.port ?? null;
  }

  /** @throws StartError if the port is in use, or if the address does not belong to this machine */
  async onApplicationBootstrap(): Promise<void> {
    const { METRICS_PORT: port, METRICS_HOST: host } = this.environment;
    if (port === undefined) return;
    this.metrics.addProcessMetrics();
    const server = http.createServer({ headersTimeout: HEADERS_TIMEOUT_MS }, (request, response) => {
      void this.respond(request, response);
    });
    server.maxConnections = CONNECTIONS_MAX;
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new StartError(
        code === 'EADDRINUSE'
          ? `Port ${port} is in use; set METRICS_PORT to another port.`
          : `Metrics cannot be served at METRICS_HOST and METRICS_PORT: ${message}.`,
        { cause: error },
      );
    }
    server.on('error', (error) => rootLogger.warn({ err: error }, 'the metrics server failed'));
    this.server = server;
    rootLogger.info({ host, port: this.port }, 'serving metrics');
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = null;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  private async respond(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      if (request.url?.split('?')[0] !== '/metrics') return end(response, 404, 'Metrics are at /metrics.\n');
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('Allow', 'GET, HEAD');
        return end(response, 405, 'Read the metrics with GET.\n');
      }
      const text = await this.metrics.text();
      end(response, 200, text, this.metrics.contentType);
    } catch (error) {
      rootLogger.error({ err: error }, 'cannot serve metrics');
      end(response, 500, 'The metrics could not be read.\n');
    }
  }
}

function end(response: http.ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}
