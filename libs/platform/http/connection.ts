import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ReadTurns } from '#platform/concurrency';
import { DISCARD_BYTES, DISCARD_MS } from './body.reader';
import type { ServiceRequest } from './request-context';

const HEADERS_END = '\r\n\r\n';

/**
 * Minimum size of a piece while a body arrives, because a body may contain any number of blank lines that look like the end
 * of a header section. Requests that follow a body within these bytes are parsed together with it.
 */
const BODY_PIECE_BYTES = 1024;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * A connection with one request in flight. Pipelined requests wait unread: during a request, at most the headers of
 * the next one are parsed, and the rest stays in the socket.
 *
 * Node parses all requests that arrive in one packet at once, even if the socket is paused at the first one. So this class
 * replaces Node's own listener for the bytes of the socket, and passes them on in pieces that end with a header section.
 * 100 connections with 64 KiB of pipelined requests each then take 1 MiB of heap. With `socket.pause()` alone, they take
 * 264 MiB on Node 24.22 and 212 MiB on Node 26.12, and Node 20.20 is busy for seconds. The attack `tiny-requests` tests it.
 */
export class Connection {
  private current: Exchange | undefined;
  /** Requests that wait: a few if they follow a body, or if the end of headers came in two packets; else one. */
  private readonly waiting: Exchange[] = [];
  /** Bytes of responses that the client had read when that number last changed, and the time of that change. */
  private bytesRead = 0;
  private progressAt = 0;
  /** Bytes that arrived after the connection was half-closed. */
  private discarded = 0;
  private isWaitingForTurn = false;

  /** Call it for the server's event `connection`. */
  constructor(
    private readonly socket: Socket,
    private readonly turns: ReadTurns,
    private readonly handle: RequestListener,
  ) {
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (!parse) throw new Error('The HTTP server of this version of Node does not listen for data.');
    socket.off('data', parse);
    socket.on('data', (bytes: Buffer) => {
      this.read(bytes, parse);
      if (!this.turns.take(bytes.length)) this.waitForTurn();
    });
    const resume = socket.resume.bind(socket);
    // called by Node whenever a part of a body has been read
    socket.resume = () => (this.isWaitingForTurn ? socket : resume());
    const destroySoon = socket.destroySoon.bind(socket);
    // called by Node after the last response
    socket.destroySoon = () => (this.isReceiving ? this.linger() : destroySoon());
  }

  /** A request is in flight. */
  get isBusy(): boolean {
    return this.current !== undefined;
  }

  /** The body of a request has not arrived yet. */
  private get isReceiving(): boolean {
    return this.current?.request.complete === false;
  }

  /** Handles a parsed request after the response to the previous one. */
  accept(request: IncomingMessage, response: ServerResponse): void {
    if (this.current) this.waiting.push({ request, response });
    else this.begin({ request, response });
  }

  /**
   * Closes the connection if its client has read nothing of a response for this long, in milliseconds. Without this, and
   * with a limit of 0.3 s, it was still open after 60 s on Node 20.20, 24.22 and 26.12.
   */
  closeIfStalled(stallMs: number): void {
    const { socket } = this;
    const read = socket.bytesWritten - socket.writableLength;
    if (socket.writableLength === 0 || read !== this.bytesRead) {
      this.bytesRead = read;
      this.progressAt = performance.now();
    } else if (performance.now() - this.progressAt >= stallMs) {
      socket.destroy();
    }
  }

  /** Closes the connection after the response to the current request. */
  closeAfterResponse(): void {
    if (this.current) this.current.response.shouldKeepAlive = false;
  }

  /**
   * Half-closes the connection, and discards the rest of the client's data. Closing at once would reset the connection
   * before the client, which is still sending a body, has read the response: without this, the client gets
   * nothing of a 413 on Node 20.20, 24.22 and 26.12.
   */
  private linger(): void {
    const timer = setTimeout(() => this.socket.destroy(), DISCARD_MS).unref();
    this.socket.once('close', () => clearTimeout(timer));
    this.socket.end();
    this.socket.resume();
  }

  private begin(exchange: Exchange): void {
    const { request, response } = exchange;
    this.current = exchange;
    response.once('close', () => {
      // after other connections, because a packet may contain thousands of requests
      if (this.waiting.length > 0) setImmediate(() => this.beginNext());
      else this.current = undefined;
    });
    this.handle(request, response);
  }

  private beginNext(): void {
    if (this.socket.destroyed) return;
    this.begin(this.waiting.shift()!);
    if (this.waiting.length === 0) this.socket.resume();
  }

  private read(bytes: Buffer, parse: (bytes: Buffer) => void): void {
    let rest = bytes;
    while (rest.length > 0 && this.waiting.length === 0) {
      // after the last response or an error
      if (this.socket.destroyed || this.socket.writableEnded) return this.discard(rest);
      const end = rest.indexOf(HEADERS_END, this.isReceiving ? BODY_PIECE_BYTES : lineEnds(rest));
      const length = end < 0 ? rest.length : end + HEADERS_END.length;
      parse.call(this.socket, rest.subarray(0, length));
      rest = rest.subarray(length);
      // Node cannot continue to parse while it waits for the client to read, or for the service to read a body
      if (this.socket.isPaused()) break;
    }
    if (rest.length === 0) return;
    this.socket.pause();
    this.socket.unshift(rest);
  }

  /** Stops reading until it is the caller's turn. */
  private waitForTurn(): void {
    if (this.isWaitingForTurn || this.socket.destroyed) return;
    this.isWaitingForTurn = true;
    this.socket.pause();
    const { user } = (this.current?.request ?? {}) as Partial<ServiceRequest>;
    this.turns.wait([user?.orgId ?? this.socket.remoteAddress ?? ''], () => {
      this.isWaitingForTurn = false;
      this.socket.resume();
    });
  }

  private discard(bytes: Buffer): void {
    this.discarded += bytes.length;
    if (this.discarded > DISCARD_BYTES) this.socket.destroy();
  }
}

/** Returns the number of line ends at the start, which the parser skips. A packet can have thousands of blank lines. */
function lineEnds(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === 0x0d || bytes[at] === 0x0a) at++;
  return at;
}
