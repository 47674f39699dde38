import type { Dispatcher } from 'undici';
import { Blocks } from '#platform/http';

/** A response whose body has been read. */
export interface WholeResponse {
  statusCode: number;
  /** Returns the headers by lower-case name. If a header is repeated, the last value counts. */
  headers: () => Record<string, string>;
  /** Null if the body is too large. */
  body: Buffer | null;
}

/** Limits and callbacks for a request and its response. */
export interface WholeResponseOptions {
  /** Returns the maximum size of a body in bytes, by the status of the response. */
  maxBytes: (statusCode: number) => number;
  /** Called with the size of each part. If it throws, the request is aborted with that error. */
  onBytes: (bytes: number) => void;
  /** Called with a function that aborts the request, which then fails with the reason. */
  onStart: (abort: (reason: Error) => void) => void;
}

/**
 * Sends a request and reads its response into memory. This costs half as much as `undici().request`, whose body is a stream. Fails
 * with the errors of undici (see `outboundFailure`).
 */
export const wholeResponse = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: WholeResponseOptions,
): Promise<WholeResponse> =>
  new Promise((resolve, reject) => {
    dispatcher.dispatch(request, new Collector(options, resolve, reject));
  });

/** An undici handler. Its `on…` methods are listed in the order that undici calls them. */
class Collector implements Dispatcher.DispatchHandler {
  private statusCode = 0;
  private raw: readonly Buffer[] = [];
  private readonly blocks = new Blocks();
  private abort: ((reason?: Error) => void) | undefined;

  constructor(
    private readonly options: WholeResponseOptions,
    private readonly resolve: (response: WholeResponse) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  onConnect(abort: (reason?: Error) => void): void {
    this.abort = abort;
    this.options.onStart(abort);
  }

  onHeaders(statusCode: number, raw: Buffer[]): boolean {
    // later headers replace those of 100 Continue and early hints
    this.statusCode = statusCode;
    this.raw = raw;
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.blocks.append(chunk);
    if (this.blocks.size > this.options.maxBytes(this.statusCode)) {
      this.settle(null);
      this.abort?.(new Error('the response is too large'));
      return false;
    }
    try {
      this.options.onBytes(chunk.length);
    } catch (error) {
      this.reject(error);
      this.abort?.(error as Error);
      return false;
    }
    return true;
  }

  onComplete(): void {
    const [only = NOTHING, ...others] = this.blocks.all();
    this.settle(others.length === 0 ? only : Buffer.concat([only, ...others]));
  }

  onError(error: Error): void {
    this.reject(error);
  }

  private settle(body: Buffer | null): void {
    const { statusCode, raw } = this;
    this.resolve({ statusCode, headers: () => headersOf(raw), body });
  }
}

const NOTHING = Buffer.alloc(0);

function headersOf(raw: readonly Buffer[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < raw.length; at += 2) {
    headers[raw[at]!.toString('latin1').toLowerCase()] = raw[at + 1]!.toString('latin1');
  }
  return headers;
}
