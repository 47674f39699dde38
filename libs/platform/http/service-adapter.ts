import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { ReadTurns } from '#platform/concurrency';
import { Problem } from '#platform/problem';
import { Connection } from './connection';
import { pathOf, type ServiceRequest } from './request-context';
import { sendBytes, StreamedBody } from './streamed-body';

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** Interval at which Node checks for connections with late headers. */
const CHECK_INTERVAL_MS = 2_000;
/** Longer than the idle timeout of common load balancers (60 s), so that they close connections first. */
const KEEP_ALIVE_MS = 75_000;

/** Connections that may wait to be accepted. The system drops further ones, and clients try again after seconds. */
const BACKLOG = 4_096;

const NODE_MAJOR = Number(process.versions.node.split('.')[0]);

/** Interval at which a stopping server closes idle connections. */
const IDLE_CHECK_MS = 50;

/** Express on a Node server with the service's limits. Responds with a problem even when no route is reached. */
export class ServiceAdapter extends ExpressAdapter {
  private closed: Promise<void> | undefined;
  private readonly connections = new Map<Socket, Connection>();
  private start: Parameters<ServiceAdapter['startWith']>[0] = (_request, _response, run) => run();
  private readonly mounted = new Map<string, http.RequestListener>();

  /** @param stallMs time after which a client that reads nothing of a response is disconnected, in milliseconds */
  constructor(private readonly stallMs: number) {
    super(withCaseSensitiveRoutes());
  }

  /** Sends bytes unchanged. Express would send them as JSON. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const isStreamed = body instanceof StreamedBody;
    if (!isStreamed && !Buffer.isBuffer(body)) return super.reply(response, body, statusCode) as unknown;
    if (statusCode !== undefined) response.status(statusCode);
    return isStreamed ? body.send(response) : sendBytes(response, body);
  }

  /**
   * Passes requests to a listener instead of the routes of Express: requests for this path, with or without a trailing
   * slash. If the path ends with a slash, also requests for every path that starts with it.
   */
  mount(path: string, listener: http.RequestListener): void {
    this.mounted.set(path, listener);
  }

  /** Sets the function that starts each request when it is its caller's turn. */
  startWith(
    start: (request: http.IncomingMessage, response: http.ServerResponse, run: () => void) => void,
  ): void {
    this.start = start;
  }

  /** @param args the address, and the function that Nest waits for */
  override listen(port: string | number, ...args: unknown[]): http.Server {
    const [host, callback] = args.length > 1 ? args : [undefined, ...args];
    const server = this.httpServer as http.Server;
    return server.listen(Number(port), host as string, BACKLOG, callback as () => void);
  }

  override initHttpServer(): void {
    const express = this.getInstance<Express>();
    const server = http.createServer({
      ...(NODE_MAJOR < 24 ? messagesOf(express) : {}),
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // the reader of the body checks that it does not stall
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // checked below, to respond with a problem
      requireHostHeader: false,
    });
    // closes connections that are idle before their first request
    server.timeout = this.stallMs;
    const turns = new ReadTurns();
    server.on('connection', (socket) => {
      turns.accepted();
      const connection = new Connection(socket, turns, (request, response) => {
        const fault = faultOf(request);
        if (fault) writeProblem(response, fault);
        else this.start(request, response, () => (this.mountedAt(request) ?? express)(request, response));
      });
      this.connections.set(socket, connection);
      socket.once('close', () => this.connections.delete(socket));
    });
    const accept: http.RequestListener = (request, response) =>
      this.connections.get(request.socket)?.accept(request, response);
    server.on('request', accept);
    // Node would respond to these itself, while other requests are in flight
    server.on('checkExpectation', accept);
    server.on('checkContinue', (request: http.IncomingMessage, response: http.ServerResponse) => {
      askForBody(request, response);
      accept(request, response);
    });
    server.on('timeout', (socket: Socket) => {
      // after the bytes that arrived while the event loop was late
      setImmediate(() => {
        if (!this.isBusy(socket)) socket.destroy();
      });
    });
    const closeStalled = (): void => {
      for (const connection of this.connections.values()) connection.closeIfStalled(this.stallMs);
    };
    const checking = setInterval(closeStalled, Math.min(CHECK_INTERVAL_MS, this.stallMs)).unref();
    server.once('close', () => clearInterval(checking));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // the client would mistake the problem for the response to the request in flight
      if (this.isBusy(socket)) socket.destroy();
      else writeToSocket(socket, problemOfParser(error));
    });
    server.on('connect', (_request, socket) => {
      if (this.isBusy(socket)) socket.destroy();
      else writeToSocket(socket, rejection('CONNECT is not supported.', 405));
    });
    this.httpServer = server as typeof this.httpServer;
  }

  /** The paths whose requests do not reach the routes of Express. */
  get mounts(): string[] {
    return [...this.mounted.keys()];
  }

  private isBusy(socket: Duplex): boolean {
    return this.connections.get(socket as Socket)?.isBusy === true;
  }

  private mountedAt(request: http.IncomingMessage): http.RequestListener | undefined {
    const path = pathOf(request);
    // a trailing slash does not matter, as with the routes of Express
    const exact = this.mounted.get(path) ?? this.mounted.get(path.replace(/\/$/, ''));
    if (exact) return exact;
    for (const [prefix, listener] of this.mounted)
      if (prefix.endsWith('/') && path.startsWith(prefix)) return listener;
    return undefined;
  }

  /**
   * Stops accepting connections and requests. Running requests may finish.
   *
   * @param graceMs time for running requests, after which their connections are closed, in milliseconds
   */
  stopAccepting(graceMs: number): void {
    this.closed ??= this.closeServer(this.httpServer as http.Server, graceMs);
  }

  /** Resolves when all responses have been sent. */
  override async close(): Promise<void> {
    this.stopAccepting(0);
    await this.closed;
  }

  private async closeServer(server: http.Server, graceMs: number): Promise<void> {
    // Node closes only currently idle connections, so from now on every response ends its connection
    for (const connection of this.connections.values()) connection.closeAfterResponse();
    server.prependListener('request', (_request, response) => (response.shouldKeepAlive = false));
    const idle = setInterval(() => {
      server.closeIdleConnections();
      // Node 20.20 and 24.22 do not treat a connection without a request as idle: one made a stop take 30 s (`server.timeout`)
      for (const socket of this.connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    }, IDLE_CHECK_MS);
    const giveUp = setTimeout(() => server.closeAllConnections(), graceMs);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    clearInterval(idle);
    clearTimeout(giveUp);
  }
}

/**
 * Returns constructors of requests and responses that have the prototypes of Express from the start. Otherwise Express sets
 * the prototypes for each request, which gives each object a separate hidden class, and V8 looks up every property again.
 * CPU time of a small request of Express 5.3 without and with these constructors, in µs: 181 and 82 on Node 20.20, 195 and
 * 80 on Node 22.23, but 76 and 89 on Node 24.22, and 52 and 83 on Node 26.12. Remove it with the support for Node 22.
 */
function messagesOf({ request, response }: Express): http.ServerOptions {
  // these Node classes are functions; subclasses of them, or `Reflect.construct`, would not have the effect
  type Initializer = (this: object, ...values: unknown[]) => void;
  const initRequest = http.IncomingMessage as unknown as Initializer;
  const initResponse = http.ServerResponse as unknown as Initializer;
  function Request(this: object, socket: unknown): void {
    initRequest.call(this, socket);
  }
  function Response(this: object, incoming: unknown, options: unknown): void {
    initResponse.call(this, incoming, options);
  }
  Request.prototype = request;
  Response.prototype = response;
  return {
    IncomingMessage: Request as unknown as typeof http.IncomingMessage,
    ServerResponse: Response as unknown as typeof http.ServerResponse,
  };
}

/** Returns whether a request has exactly one `Host` (RFC 9112, section 3.2). Proxies may disagree about which of two counts. */
function hasOneHost({ rawHeaders }: http.IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === 'host') hosts++;
  return hosts === 1;
}

/**
 * Lets the reader of the body ask for it (RFC 9110, section 10.1.1). A client that gets a response instead may or may not
 * send the body, so its connection cannot be used again. If the body is asked for at once, a rejected request gets 100 before
 * its 401, and its connection stays open (Node 20.20, 24.22 and 26.12).
 */
function askForBody(request: http.IncomingMessage, response: http.ServerResponse): void {
  const keepsAlive = response.shouldKeepAlive;
  response.shouldKeepAlive = false;
  (request as ServiceRequest).askForBody = () => {
    (request as ServiceRequest).askForBody = undefined;
    if (response.headersSent || response.destroyed) return;
    response.shouldKeepAlive = keepsAlive;
    response.writeContinue();
  };
}

/** Express creates its router on first use, in the constructor of Nest's adapter. Later changes of settings have no effect. */
function withCaseSensitiveRoutes(): Express {
  const routes = express();
  routes.enable('case sensitive routing');
  return routes;
}

const rejection = (detail: string, status: number): Problem =>
  new Problem(status === 405 ? 'method_not_allowed' : 'invalid_request', detail, { status });

const BAD_HOST = rejection('Send exactly one Host header.', 400);
const BAD_CODING = rejection('Only Transfer-Encoding: chunked is supported.', 400);
const BAD_EXPECTATION = rejection('Only Expect: 100-continue is supported.', 417);

/** Returns the problem of a request that no route can handle. */
function faultOf(request: http.IncomingMessage): Problem | undefined {
  if (!hasOneHost(request)) return BAD_HOST;
  const { expect, 'transfer-encoding': coding } = request.headers;
  // Node's parser would close the connection without a response
  if (coding !== undefined && !/^chunked$/i.test(coding)) return BAD_CODING;
  return expect === undefined || /^100-continue$/i.test(expect) ? undefined : BAD_EXPECTATION;
}

function problemOfParser(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return rejection(`The request headers can have at most ${MAX_HEADER_BYTES / 1024} KiB in total.`, 431);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const detail = `The request headers did not arrive within ${HEADERS_TIMEOUT_MS / 1000} s.`;
    return new Problem('request_timeout', detail, { status: 408 });
  }
  return rejection('The request is not valid HTTP/1.1.', 400);
}

function writeProblem(response: http.ServerResponse, failure: Problem): void {
  const body = JSON.stringify(failure.toBody(randomBytes(16).toString('hex')));
  response
    .writeHead(failure.status, { 'Content-Type': 'application/problem+json', 'X-Request-Id': randomUUID() })
    .end(body);
}

/** Writes to the socket, because there is no response object when Node's parser gives up. */
function writeToSocket(socket: Duplex, failure: Problem): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(failure.toBody(randomBytes(16).toString('hex')));
  socket.end(
    [
      `HTTP/1.1 ${failure.status} ${http.STATUS_CODES[failure.status] ?? 'Error'}`,
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
