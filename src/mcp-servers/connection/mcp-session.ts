import type { Client } from '@modelcontextprotocol/client';

/** What the service asks a server for. */
export type OperationKind = 'listing' | 'call';

/** A connection to a server, for one operation. */
export interface McpSession {
  readonly client: Client;
  /** Aborted when the time of the operation is over, or nobody waits for it any more. Pass it to every request. */
  readonly signal: AbortSignal;
  /** `performance.now()` before the first request. */
  readonly startedAt: number;
}

/** The SDK's own limit for a request, beyond that of the operation. */
const REQUEST_MS = 2 ** 31 - 1;
export const requestOptions = ({ signal }: McpSession) => ({ signal, timeout: REQUEST_MS });
