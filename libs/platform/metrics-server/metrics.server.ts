import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { HealthChecks } from '#platform/health';
import { rootLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { Problem } from '#platform/problem';
import { StartError } from '#platform/process';

const HEADERS_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 50;

interface Answer {
  text: string;
  type: string;
}

const HEALTHY: Answer = { text: '{"status":"ok"}', type: 'application/json' };

/**
 * Serves `GET /metrics`, `/health/live` and `/health/ready` at `METRICS_HOST` and `METRICS_PORT`, without authentication. Responds
 * even while the API sheds requests, while many connections wait for the API's port, or while the database is unavailable. Stops
 * last.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: http.Server | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly metrics: Metrics,
    private readonly health: HealthChecks,
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
    const answer = this.answerAt(request.url?.split('?')[0]);
    if (!answer) return end(response, 404, 'This port serves /metrics, /health/live and /health/ready.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return end(response, 405, 'Send a GET request.\n');
    }
    try {
      const { text, type } = await answer();
      end(response, 200, text, type);
    } catch (error) {
      if (error instanceof Problem) return end(response, error.status, `${error.detail}\n`);
      rootLogger.error({ err: error }, 'cannot serve metrics');
      end(response, 500, 'The metrics could not be read.\n');
    }
  }

  private answerAt(path: string | undefined): (() => Promise<Answer> | Answer) | undefined {
    switch (path) {
      case '/metrics':
        return async () => ({ text: await this.metrics.text(), type: this.metrics.contentType });
      case '/health/live':
        return () => HEALTHY;
      case '/health/ready':
        return async () => {
          await this.health.ready();
          return HEALTHY;
        };
      default:
        return undefined;
    }
  }
}

function end(response: http.ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}
