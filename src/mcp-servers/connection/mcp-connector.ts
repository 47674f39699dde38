import { Client, type jsonSchemaValidator } from '@modelcontextprotocol/client';
import { FairLimiter, linkedSignal, unlessAborted, WaitTimeout } from '#platform/concurrency';
import type { Environment } from '#platform/config';
import type { OutboundHttp } from '#platform/outbound';
import { Problem, problem } from '#platform/problem';
import { ResponseLimits } from './response-limits';
import { deliverToolsUnchecked, endSession, type OperationTransport, transportOf } from './mcp-transport';
import { type McpSession, type OperationKind, requestOptions } from './mcp-session';
import { OperationRequests } from './operation-requests';
import type { ConnectionTarget, ServerCredentials } from './server-credentials';
import { failureOf } from './sdk-failures';
import { ServerFailure } from './server-failure';

const MIB = 1024 * 1024;

/** The limits of each kind of operation. `concurrency` limits the operations of a process, `share` those of an organization. */
const OPERATIONS = {
  /**
   * Reading the complete list of tools, for example 5,000 with 120 structural characters (`[`, `{`, `,` and `:`) each.
   * 600,000 structural characters take up to 0.5 s, and up to 40 MiB in addition to the bytes, so the lists of hostile
   * servers take up to 0.5 GiB together.
   */
  listing: { concurrency: 12, share: 4, maxBytes: 16 * MIB, maxStructuralChars: 600_000 },
  /** Calling a tool. 100,000 structural characters take up to 7 MiB. */
  call: { concurrency: 64, share: 16, maxBytes: 4 * MIB, maxStructuralChars: 100_000 },
} as const satisfies Record<OperationKind, object>;

const MAX_WAITING = 256;
/** The maximum wait for a turn, in milliseconds. */
const WAIT_MS = 8_000;
/** The maximum time for ending a session, in milliseconds. It extends the deadline, because the result is already known. */
const END_MS = 1_000;
const END_BYTES = 64 * 1024;

/** Accepts all results, because the schemas come from tenants and may take arbitrarily long to compile. */
const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: <T>() => {
    return (input: unknown) => ({ valid: true, data: input as T & {}, errorMessage: undefined });
  },
};

/**
 * Connects to registered servers with the official SDK, in any protocol revision that the SDK supports. Each connection
 * serves one operation with one deadline (`MCP_TIMEOUT_MS`) and one byte limit, and is always closed.
 */
export class McpConnector {
  private readonly limiters: Record<OperationKind, FairLimiter>;

  constructor(
    private readonly environment: Environment,
    private readonly outbound: OutboundHttp,
    private readonly credentials: ServerCredentials,
  ) {
    const limiterOf = ({ concurrency, share }: { concurrency: number; share: number }) =>
      new FairLimiter({ concurrency, share, maxWaiting: MAX_WAITING, maxWaitMs: WAIT_MS });
    this.limiters = { listing: limiterOf(OPERATIONS.listing), call: limiterOf(OPERATIONS.call) };
  }

  /**
   * Runs one operation on a server. Organizations take turns, so that unresponsive servers of one do not delay the others.
   *
   * @param signal ends the operation early; its reason is thrown
   * @throws ServerFailure if the server cannot be used; 503 `service_overloaded` if too many operations wait
   */
  async run<Result>(
    server: ConnectionTarget,
    kind: OperationKind,
    signal: AbortSignal | undefined,
    work: (session: McpSession) => Promise<Result>,
  ): Promise<Result> {
    const owner = { orgId: server.org_id, workspaceId: server.workspace_id };
    try {
      return await this.limiters[kind].run(owner, signal, async () => {
        const attempt = {
          server,
          kind,
          signal,
          work,
          endsAt: performance.now() + this.environment.MCP_TIMEOUT_MS,
        };
        try {
          return await this.operate(attempt);
        } catch (error) {
          // The token may have been revoked. The second attempt requests a new one.
          if (error instanceof RejectedToken) return this.operate(attempt);
          throw error;
        }
      });
    } catch (error) {
      if (!(error instanceof WaitTimeout)) throw error;
      throw problem.overloaded('Too many MCP servers are in use. Try again shortly.');
    }
  }

  private async operate<Result>({ server, kind, signal, work, endsAt }: Attempt<Result>): Promise<Result> {
    const urls = this.credentials.urlsOf(server);
    const url = new URL(urls.url);
    const ending = new AbortController();
    const seconds = this.environment.MCP_TIMEOUT_MS / 1000;
    let awaited = server.auth_type === 'oauth' ? 'token endpoint' : 'server';
    const end = (): void =>
      ending.abort(new ServerFailure('timeout', `The ${awaited} did not respond within ${seconds} s.`));
    const timer = setTimeout(end, Math.max(endsAt - performance.now(), 1));
    const linked = linkedSignal(signal, ending.signal);
    const { maxBytes, maxStructuralChars } = OPERATIONS[kind];
    // The SDK hides the causes of its errors.
    let cause: unknown;
    const onFailure = (error: unknown): void => void (cause = error);
    const fetcher = this.outbound.fetcher({ signal: linked.signal, maxBytes, onFailure });
    const requests = new OperationRequests(
      {
        origin: url.origin,
        limits: new ResponseLimits(maxStructuralChars),
        // The SDK has resumed a broken stream, so the earlier error is not the cause of a failure.
        onResponse: () => void (cause = undefined),
        onExcess: (failure) => ending.abort(failure),
      },
      fetcher,
    );
    const transport = transportOf(server.transport, url, requests.fetch);
    const client = clientFor(server);
    try {
      // The event source of the SDK would reconnect forever while its requests wait.
      if (server.transport === 'sse') transport.onerror = (error) => ending.abort(error);
      const result = (async () => {
        requests.credential = await this.credentials.of(server, fetcher, linked.signal);
        awaited = 'server';
        const session = { client, signal: linked.signal, startedAt: performance.now() };
        await client.connect(transport, requestOptions(session));
        if (kind === 'listing') deliverToolsUnchecked(transport);
        return work(session);
      })();
      return await unlessAborted(result, linked.signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Problem) throw error;
      // Thrown by the token endpoint, or at the deadline.
      if (error instanceof ServerFailure) throw error;
      const { credential } = requests;
      const failure = failureOf([cause, error], { credential, url: urls.secrets });
      const isTokenRejected =
        failure.status === 401 && credential && this.credentials.forget(server, credential);
      throw isTokenRejected ? new RejectedToken(failure.kind, failure.message) : failure;
    } finally {
      clearTimeout(timer);
      await this.end(transport, requests);
      await client.close().catch(() => undefined);
      await transport.close().catch(() => undefined);
      ending.abort();
      linked.unlink();
    }
  }

  /** Ends the session of the server, if it has one. Ignores failures, because the server lets the session expire. */
  private async end(transport: OperationTransport, requests: OperationRequests): Promise<void> {
    if (transport.sessionId === undefined) return;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), END_MS);
    requests.use(this.outbound.fetcher({ signal: ending.signal, maxBytes: END_BYTES }));
    try {
      await unlessAborted(endSession(transport), ending.signal);
    } catch {
      // Ignored, see above.
    } finally {
      clearTimeout(timer);
      ending.abort();
    }
  }
}

/** A running operation. A second attempt has the same deadline. */
interface Attempt<Result> {
  server: ConnectionTarget;
  kind: OperationKind;
  signal: AbortSignal | undefined;
  work: (session: McpSession) => Promise<Result>;
  /** In the time of `performance.now()`. */
  endsAt: number;
}

/** Thrown if the server rejected an access token, which is then no longer cached. */
class RejectedToken extends ServerFailure {}

const clientFor = ({ transport }: ConnectionTarget): Client =>
  new Client(
    { name: 'registry', version: '1.0.0' },
    {
      // The SSE transport belongs to the earlier revisions.
      versionNegotiation: { mode: transport === 'sse' ? 'legacy' : 'auto' },
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
