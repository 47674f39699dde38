import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { ReadTurns } from '#platform/concurrency';
import { undici } from './undici';

/** undici's parser of the responses of one connection. */
interface Parser {
  /** Null once the connection has closed. */
  readonly ptr: number | null;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  /** Whether the parser waits for `resume`. */
  paused: boolean;
  onHeadersComplete(status: number, isUpgrade: boolean, keepsAlive: boolean): number;
  onBody(bytes: Buffer): number;
  onMessageComplete(): number;
  execute(bytes: Buffer): void;
  readMore(): void;
  resume(): void;
  finish(): Error | null;
}

/** Results of the parser's callbacks. */
const OK = 0;
const FAILED = -1;
const PAUSED = 21;

const CONTINUE = 100;
const PROCESSING = 102;
/** The first status of a response that is not informational. */
const FINAL = 200;
/** Maximum number of informational responses before a response. */
const INFORMATIONAL_MAX = 32;

/** Parts of a body below this size are joined. Parsing one takes the time of about so many bytes. */
const SMALL_BYTES = 256;
/** Maximum size of joined parts. */
const JOINED_BYTES = 4 * 1024;

/**
 * Lets the connections of a dispatcher take turns, so that no server blocks the event loop or fills the memory with its responses:
 * neither with many bytes at once, nor with chunks of one byte, each of which takes a microsecond and 200 bytes of memory, nor with
 * informational responses. It replaces methods of undici's parser, because undici has no option for any of this. package.json
 * therefore names one exact version of undici.
 */
export function takeTurns(dispatcher: Dispatcher, turns: ReadTurns): void {
  const { kParser, kRunning, kSocket } = require('undici/lib/core/symbols.js') as Record<string, symbol>;
  dispatcher.on('connect', ({ origin }, targets) => {
    const client = targets.at(-1) as unknown as Record<symbol, unknown>;
    const socket = client[kSocket!] as (Socket & Record<symbol, Parser | undefined>) | null;
    const parser = socket?.[kParser!];
    if (!socket || !parser) return;
    const isIdle = (): boolean => client[kRunning!] === 0;
    new ResponseReading(parser, socket, origin, isIdle, turns);
  });
}

/** Reads the responses of one connection. */
class ResponseReading {
  /** The small part of the body that has arrived, if it is the only one. */
  private part: Buffer | undefined;
  /** Several small parts. The buffer is used again. */
  private joined: Buffer | undefined;
  private joinedBytes = 0;
  private informational = 0;
  private isWaitingForTurn = false;
  /** Whether the receiver of the body has to read first. */
  private isReceiverBusy = false;
  private readonly pass: (bytes: Buffer) => number;
  private readonly resumeParser: () => void;

  constructor(
    private readonly parser: Parser,
    private readonly socket: Socket,
    private readonly origin: string,
    /** Tells whether no response is expected. Whatever is received then is read at once, and breaks the connection. */
    private readonly isIdle: () => boolean,
    private readonly turns: ReadTurns,
  ) {
    this.pass = parser.onBody.bind(parser);
    this.resumeParser = parser.resume.bind(parser);
    this.replaceMethods(parser);
  }

  private replaceMethods(parser: Parser): void {
    const onHeadersComplete = parser.onHeadersComplete.bind(parser);
    const onMessageComplete = parser.onMessageComplete.bind(parser);
    const execute = parser.execute.bind(parser);
    const finish = parser.finish.bind(parser);
    parser.onHeadersComplete = (status, ...rest) => {
      this.informational = status < FINAL ? this.informational + 1 : 0;
      if (this.informational > INFORMATIONAL_MAX) return FAILED;
      // RFC 9110, section 15.2 requires that clients ignore 100 Continue. undici breaks the connection, but ignores a 102.
      return this.noteReceiver(onHeadersComplete(status === CONTINUE ? PROCESSING : status, ...rest));
    };
    parser.onBody = (bytes) => this.receive(bytes);
    parser.onMessageComplete = () => {
      this.passJoined();
      this.joined = undefined;
      this.isReceiverBusy = false;
      return onMessageComplete();
    };
    parser.execute = (bytes) => {
      execute(bytes);
      // more is joined in the next turn
      if (this.isWaitingForTurn || socketEnded(this.socket, parser)) return;
      if (this.passJoined() === PAUSED) parser.paused = true;
    };
    parser.readMore = () => this.readMore();
    parser.resume = () => {
      if (!this.isReceiverBusy) return;
      this.isReceiverBusy = false;
      this.continue();
    };
    // Called when the connection ends or breaks. undici asserts that the parser is not paused, and the process would end.
    parser.finish = () => {
      const isRead = this.socket.readableEnded;
      if (!isRead && (parser.paused || this.isWaitingForTurn))
        return new (undici().errors.SocketError)('The connection closed before the response was read.');
      if (parser.paused) {
        // all bytes are parsed, and the body buffers what its receiver has not read
        parser.llhttp.llhttp_resume(parser.ptr!);
        parser.paused = false;
      }
      return finish();
    };
  }

  private readMore(): void {
    const { parser, socket, turns } = this;
    while (!parser.paused && parser.ptr !== null && (!this.isWaitingForTurn || this.isIdle())) {
      const bytes = socket.read() as Buffer | null;
      if (bytes === null) return;
      parser.execute(bytes);
      if (!turns.take(bytes.length)) this.waitForTurn();
    }
  }

  private receive(bytes: Buffer): number {
    if (bytes.length >= SMALL_BYTES) {
      const result = this.passJoined();
      return result === FAILED ? FAILED : this.noteReceiver(this.pass(bytes));
    }
    const result = this.join(bytes);
    if (result === FAILED) return FAILED;
    if (!this.turns.take(SMALL_BYTES)) this.waitForTurn();
    return this.isReceiverBusy || this.isWaitingForTurn ? PAUSED : OK;
  }

  private join(bytes: Buffer): number {
    if (!this.part && this.joinedBytes === 0) {
      this.part = bytes;
      return OK;
    }
    this.joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
    if (this.part) this.joinedBytes = this.part.copy(this.joined);
    this.part = undefined;
    this.joinedBytes += bytes.copy(this.joined, this.joinedBytes);
    return this.joinedBytes > JOINED_BYTES - SMALL_BYTES ? this.passJoined() : OK;
  }

  /** Passes on the small parts. */
  private passJoined(): number {
    if (!this.part && this.joinedBytes === 0) return OK;
    const bytes = this.part ?? Buffer.from(this.joined!.subarray(0, this.joinedBytes));
    this.part = undefined;
    this.joinedBytes = 0;
    return this.noteReceiver(this.pass(bytes));
  }

  private noteReceiver(result: number): number {
    this.isReceiverBusy ||= result === PAUSED;
    return result;
  }

  private waitForTurn(): void {
    if (this.isWaitingForTurn) return;
    this.isWaitingForTurn = true;
    this.turns.wait([this.origin], () => {
      this.isWaitingForTurn = false;
      this.continue();
    });
  }

  private continue(): void {
    const { parser, socket } = this;
    if (this.isReceiverBusy || this.isWaitingForTurn || socketEnded(socket, parser)) return;
    if (parser.paused) this.resumeParser();
    else this.readMore();
  }
}

const socketEnded = (socket: Socket, parser: Parser): boolean => socket.destroyed || parser.ptr === null;
