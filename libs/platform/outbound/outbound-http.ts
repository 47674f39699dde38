import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Agent, Dispatcher, RequestInit as UndiciInit } from 'undici';
import { ReadTurns } from '#platform/concurrency';
import type { IpRange } from '#platform/config';
import { AddressPolicy } from './address-policy';
import { checkedConnector } from './checked-connector';
import {
  BlockedAddressError,
  InvalidResponseError,
  RedirectRefusedError,
  ResponseTooLargeError,
} from './outbound-errors';
import { type Resolve, systemResolver } from './resolve';
import { takeTurns } from './response-reading';
import { undici } from './undici';

const HEADERS_MAX = 16 * 1024;
const KEEP_ALIVE_MAX_MS = 30_000;
/** Maximum time to connect to an address that the operator configured. */
const CONNECT_MS = 10_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The limits of one outbound operation, which may take several requests. */
export interface OutboundLimits {
  /** The deadline of the whole operation. */
  signal: AbortSignal;
  /** Maximum size of all responses of the operation in total, in bytes after decoding. */
  maxBytes: number;
  /** Receives each error of a request or a body, because some clients hide the causes of their errors. */
  onFailure?: (error: unknown) => void;
}

/**
 * Sends requests to addresses that tenants configure. Connects only to public addresses and to addresses that the operator
 * allows, never follows a redirect, and ignores the proxies of the environment.
 */
@Injectable()
export class OutboundHttp implements OnApplicationShutdown {
  private agent: Dispatcher | undefined;
  private trustedAgent: Dispatcher | undefined;
  private readonly turns = new ReadTurns();

  /**
   * @param allowed ranges that may be called although they are not public (`OUTBOUND_ALLOW`)
   * @param resolve returns the addresses of a name
   */
  constructor(
    private readonly allowed: readonly IpRange[],
    private readonly resolve: Resolve = systemResolver(),
  ) {}

  /**
   * For undici's own functions. Checks the address of each connection that it opens. Does not limit times or sizes of
   * bodies, and follows no redirects. Call `checkUrl` first.
   */
  get dispatcher(): Dispatcher {
    return (this.agent ??= this.newAgent({
      connect: checkedConnector(new AddressPolicy(this.allowed), this.resolve),
    }));
  }

  /** The same for addresses that the operator configured, which are not checked. */
  get trusted(): Dispatcher {
    return (this.trustedAgent ??= this.newAgent({ connect: { timeout: CONNECT_MS } }));
  }

  /** Throws `BlockedAddressError` for a URL that is not `http` or `https`, or that contains a user or a password. */
  checkUrl({ protocol, username, password }: URL): void {
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new BlockedAddressError('Only URLs that begin with http:// or https:// can be called.');
    }
    if (username !== '' || password !== '') {
      throw new BlockedAddressError('URLs that contain a user or a password cannot be called.');
    }
  }

  /**
   * Returns a `fetch` for one operation. `outboundFailure` tells why a call failed. In addition to the errors of `fetch`, it
   * throws `BlockedAddressError`, `RedirectRefusedError`, and `ResponseTooLargeError` while a body is read.
   */
  fetcher({ signal, maxBytes, onFailure }: OutboundLimits): typeof fetch {
    const budget = new BodyBudget(maxBytes, onFailure);
    return async (input, init) => {
      try {
        const { url, options } = requestOf(input, init);
        this.checkUrl(url);
        const response = await undici().fetch(url, {
          ...options,
          redirect: 'manual',
          dispatcher: this.dispatcher,
          signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
        });
        return await budget.limit(response as unknown as Response);
      } catch (error) {
        onFailure?.(error);
        throw error;
      }
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.agent?.destroy(), this.trustedAgent?.destroy()]);
  }

  private newAgent(options: Agent.Options): Dispatcher {
    const agent = new (undici().Agent)({
      ...options,
      maxHeaderSize: HEADERS_MAX,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      // The deadline of the operation applies.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    takeTurns(agent, this.turns);
    return agent;
  }
}

/** The types of undici and of Node differ, although the values are the same. */
function requestOf(input: string | URL | Request, init: RequestInit | undefined) {
  if (!(input instanceof Request)) return { url: new URL(input), options: (init ?? {}) as UndiciInit };
  const { url, method, headers, body, signal } = new Request(input, init);
  return {
    url: new URL(url),
    options: { method, headers, signal, body, ...(body && { duplex: 'half' }) } as UndiciInit,
  };
}

/** The remaining bytes for the bodies of an operation. */
class BodyBudget {
  private left: number;

  constructor(
    private readonly maxBytes: number,
    private readonly onFailure: ((error: unknown) => void) | undefined,
  ) {
    this.left = maxBytes;
  }

  /** Returns the response with a body that fails when the budget is spent. Throws `RedirectRefusedError`. */
  async limit({ status, statusText, headers, url, body }: Response): Promise<Response> {
    if (REDIRECTS.has(status)) {
      await body?.cancel();
      throw new RedirectRefusedError(status);
    }
    if (status > 599) {
      await body?.cancel();
      throw new InvalidResponseError(`The server responded with the invalid status ${status}.`);
    }
    const response = new Response(body && this.limitBody(body), {
      status,
      statusText,
      headers: [...headers],
    });
    return Object.defineProperty(response, 'url', { value: url });
  }

  private limitBody(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        this.left -= value.length;
        if (this.left < 0) throw new ResponseTooLargeError(this.maxBytes);
        controller.enqueue(value);
      } catch (error) {
        this.onFailure?.(error);
        // Ends the connection. This fails if the body has failed, so the error is ignored.
        await reader.cancel(error).catch(() => undefined);
        throw error;
      }
    };
    return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 });
  }
}
