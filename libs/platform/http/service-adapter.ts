import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import { Problem } from '#platform/problem';
import { StreamedBody } from './streamed-body';

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** Interval at which Node checks for connections with late headers. */
const CHECK_INTERVAL_MS = 2_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close connections first. */
const KEEP_ALIVE_MS = 75_000;

/** Interval at which a stopping server closes idle connections. */
const IDLE_CHECK_MS = 50;

/** Express on a Node server with the service's limits. Answers with a problem even when no route is reached. */
export class ServiceAdapter extends ExpressAdapter {
  private closed: Promise<void> | undefined;
  private readonly active = new Set<http.ServerResponse>();
  private readonly unused = new Set<Socket>();

  /** @param stallMs time after which a client that reads nothing of a response is disconnected, in milliseconds */
  constructor(private readonly stallMs: number) {
    super();
  }

  /** Sends bytes unchanged. Express would send them as JSON. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const isStreamed = body instanceof StreamedBody;
    if (!isStreamed && !Buffer.isBuffer(body)) return super.reply(response, body, statusCode) as unknown;
    if (statusCode !== undefined) response.status(statusCode);
    return isStreamed ? body.send(response, this.stallMs) : response.end(body);
  }

  override initHttpServer(): void {
    const server = http.createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: HEADERS_TIMEOUT_MS,
        // the reader of the body checks that it does not stall
        requestTimeout: 0,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
      },
      this.getInstance() as http.RequestListener,
    );
    server.on('connection', (socket) => {
      this.unused.add(socket);
      socket.once('close', () => this.unused.delete(socket));
    });
    server.prependListener('request', (request, response) => {
      this.unused.delete(request.socket);
      this.active.add(response);
      response.once('close', () => this.active.delete(response));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // the client would read a second response as part of the first
      if (this.isAnswering(socket)) socket.destroy();
      else answerSocket(socket, problemOfParser(error));
    });
    server.on('connect', (_request, socket) =>
      answerSocket(socket, refused('CONNECT is not supported.', 405)),
    );
    server.on('checkExpectation', (_request, response: http.ServerResponse) => {
      writeProblem(response, refused('Only Expect: 100-continue is supported.', 417));
    });
    this.httpServer = server as typeof this.httpServer;
  }

  /**
   * Stops accepting connections and requests. Running requests may finish.
   *
   * @param graceMs time for running requests, after which their connections are closed, in milliseconds
   */
  stopAccepting(graceMs: number): void {
    this.closed ??= this.closeServer(this.httpServer as http.Server, graceMs);
  }

  /** Resolves when all requests are answered. */
  override async close(): Promise<void> {
    this.stopAccepting(0);
    await this.closed;
  }

  private isAnswering(socket: Duplex): boolean {
    return [...this.active].some((response) => response.socket === socket && response.headersSent);
  }

  private async closeServer(server: http.Server, graceMs: number): Promise<void> {
    // Node closes only currently idle connections, so from now on every response ends its connection
    for (const response of this.active) response.shouldKeepAlive = false;
    server.prependListener('request', (_request, response) => (response.shouldKeepAlive = false));
    const idle = setInterval(() => {
      server.closeIdleConnections();
      // connections that have never sent a request are not idle to Node
      for (const socket of this.unused) if (socket.bytesRead === 0) socket.destroy();
    }, IDLE_CHECK_MS);
    const giveUp = setTimeout(() => server.closeAllConnections(), graceMs);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    clearInterval(idle);
    clearTimeout(giveUp);
  }
}

const refused = (detail: string, status: number): Problem =>
  new Problem(status === 405 ? 'method_not_allowed' : 'invalid_request', detail, { status });

function problemOfParser(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return refused(`The request headers can have at most ${MAX_HEADER_BYTES / 1024} KiB in all.`, 431);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const detail = `The request headers did not arrive within ${HEADERS_TIMEOUT_MS / 1000} s.`;
    return new Problem('request_timeout', detail, { status: 408 });
  }
  return refused('The request is not valid HTTP/1.1.', 400);
}

function writeProblem(response: http.ServerResponse, found: Problem): void {
  const body = JSON.stringify(found.toBody(randomBytes(16).toString('hex')));
  response
    .writeHead(found.status, { 'Content-Type': 'application/problem+json', 'X-Request-Id': randomUUID() })
    .end(body);
}

/** Writes to the socket, because there is no response object when Node's parser gives up. */
function answerSocket(socket: Duplex, found: Problem): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(found.toBody(randomBytes(16).toString('hex')));
  socket.end(
    [
      `HTTP/1.1 ${found.status} ${http.STATUS_CODES[found.status] ?? 'Error'}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${randomUUID()}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
    () => socket.destroy(),
  );
}
