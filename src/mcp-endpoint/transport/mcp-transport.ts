import { setImmediate as afterIo, setTimeout as delay } from 'node:timers/promises';
import {
  type AuthInfo,
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { FairLimiter, unlessAborted, WaitTimeout } from '#platform/concurrency';
import { parsePlain, Reply, type ServiceRequest } from '#platform/http';
import { countValues } from '#platform/json';
import { Problem, problem } from '#platform/problem';
import type { RateLimits } from '#platform/rate-limit';
import type { Caller } from '../sessions/caller';
import { batchFault, runSequentially } from './batch';
import type { McpServerFactory } from './mcp-server.factory';

/** The SDK reads only the path. */
const ENDPOINT = 'http://localhost/mcp';

/**
 * The maximum number of values in a body. The SDK's validation blocks the event loop for 5 µs per value, and for longer
 * per value if there are many.
 */
const VALUES_MAX = 10_000;
/** Messages with more values are parsed and validated one at a time, so that other requests can run in between. */
const VALUES_AT_ONCE = 500;
/** The pause between two of these messages, in milliseconds: about as long as a validation takes. */
const PAUSE_MS = 50;
const MAX_WAITING = 256;
/** The maximum wait of such a message, in milliseconds. */
const WAIT_MS = 10_000;

/** The headers that the SDK reads in addition to `Accept`. */
const FORWARDED = /^(content-type|mcp-.*)$/;

/** The SDK rejects earlier clients that do not accept both, although all responses are JSON. */
const ACCEPTED = 'application/json, text/event-stream';
/** A media range that includes JSON. `*` alone is what older HTTP clients of Java send. */
const JSON_RANGE = /^(application\/(json|\*)|\*\/\*|\*)$/i;
/** A weight of 0, which excludes a media range. */
const EXCLUDED = /^q=0(\.0*)?$/i;

/**
 * Serves requests with the official SDK. Requests of 2026-07-28 describe themselves. Requests of earlier revisions are
 * served without a session, so that any API process can serve them. Responses are JSON.
 */
export class McpTransport {
  private readonly current = createMcpHandler(
    ({ authInfo, era }) => this.servers.create(callerOf(authInfo), era),
    {
      legacy: 'reject',
    },
  );

  private readonly largeMessages = new FairLimiter({
    concurrency: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: WAIT_MS,
  });

  constructor(
    private readonly servers: McpServerFactory,
    private readonly limits: RateLimits,
  ) {}

  /** Serves a request of an authenticated caller. */
  async serve(caller: Caller, { headers, rawBody, res }: ServiceRequest): Promise<Reply> {
    const values = countValues(rawBody!, VALUES_MAX);
    if (values > VALUES_MAX) return tooManyValues();
    if (values > VALUES_AT_ONCE) await this.waitForTurn(caller);
    let parsedBody: unknown;
    try {
      parsedBody = parsePlain(rawBody!);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return refusal(-32700, `Parse error: ${error.detail}`);
    }
    if (Array.isArray(parsedBody)) {
      const fault = batchFault(parsedBody, headers['mcp-protocol-version']);
      if (fault !== null) return refusal(-32600, `Invalid request: ${fault}`);
      // the request itself is already counted
      const further = parsedBody.length - 1;
      if (further > 0) await this.limits.count('proxy', caller.principal, res!, further);
    }
    const request = new Request(ENDPOINT, {
      method: 'POST',
      headers: forwarded(headers),
      signal: caller.signal,
    });
    const isEarlier = await isLegacyRequest(request, parsedBody);
    if (isEarlier && !acceptsJson(headers.accept)) return notAcceptable();
    const response = isEarlier
      ? await this.serveEarlier(caller, request, parsedBody)
      : await this.current.fetch(request, { authInfo: authInfoOf(caller), parsedBody });
    return replyOf(response);
  }

  async close(): Promise<void> {
    await this.current.close();
  }

  /** Waits until a large message may be parsed and validated. The next one waits until then, and for a pause. */
  private waitForTurn({ principal, workspaceId = '', signal }: Caller): Promise<void> {
    const owner = { orgId: principal.orgId, workspaceId };
    return new Promise((resolve, reject) => {
      const turn = async (): Promise<void> => {
        resolve();
        await afterIo(); // parsing and validation have ended by then, because they do not wait for anything
        await delay(PAUSE_MS);
      };
      this.largeMessages.run(owner, signal, turn).catch((error: unknown) => {
        const isLate = error instanceof WaitTimeout;
        reject(
          isLate
            ? problem.overloaded('Too many large messages are waiting. Try again shortly.')
            : (error as Error),
        );
      });
    });
  }

  /** Serves a request of a revision before 2026-07-28. The SDK's own handler would respond with event streams. */
  private async serveEarlier(caller: Caller, request: Request, parsedBody: unknown): Promise<Response> {
    const server = this.servers.create(caller, 'legacy');
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: true,
    });
    await server.connect(transport);
    if (Array.isArray(parsedBody)) runSequentially(transport);
    try {
      // frees the server at the deadline, or when the client disconnects
      return await unlessAborted(transport.handleRequest(request, { parsedBody }), caller.signal);
    } finally {
      await server.close();
    }
  }
}

const authInfoOf = (caller: Caller): AuthInfo => ({
  token: '',
  clientId: caller.principal.id,
  scopes: [],
  extra: { caller },
});

const callerOf = (authInfo: AuthInfo | undefined): Caller => authInfo!.extra!['caller'] as Caller;

function forwarded(headers: ServiceRequest['headers']): Record<string, string> {
  const forwardedHeaders: Record<string, string> = { accept: ACCEPTED };
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && FORWARDED.test(name)) forwardedHeaders[name] = value;
  }
  return forwardedHeaders;
}

/** Returns whether an `Accept` (RFC 9110) admits JSON. An empty one admits everything. */
function acceptsJson(accept = ''): boolean {
  if (accept.trim() === '') return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    return JSON_RANGE.test(type) && !parameters.some((parameter) => EXCLUDED.test(parameter));
  });
}

async function replyOf(response: Response): Promise<Reply> {
  const type = response.headers.get('content-type');
  const body = Buffer.from(await response.arrayBuffer());
  return new Reply(response.status, body, type === null ? {} : { 'Content-Type': type });
}

/** Returns the error for a message that is not read. Its id is therefore null. */
const refusal = (code: number, message: string, status = 400): Reply =>
  new Reply(status, { jsonrpc: '2.0', error: { code, message }, id: null });

const notAcceptable = (): Reply =>
  refusal(-32000, 'Not acceptable: responses are JSON. Send `Accept: application/json`.', 406);

const tooManyValues = (): Reply =>
  refusal(-32600, `Invalid request: a message can have at most ${VALUES_MAX} values and members.`);
