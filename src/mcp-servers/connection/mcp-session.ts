import type { Client } from '@modelcontextprotocol/client';

/** The kinds of operations on a server. */
export type OperationKind = 'listing' | 'call';

/** A connection to a server, for one operation. */
export interface McpSession {
  readonly client: Client;
  /** Aborted at the deadline of the operation, or when no caller waits for it any longer. Pass it to every request. */
  readonly signal: AbortSignal;
  /** `performance.now()` before the first request. */
  readonly startedAt: number;
}

/** The SDK's own timeout of a request, longer than any operation, in milliseconds. */
const REQUEST_MS = 2 ** 31 - 1;
export const requestOptions = ({ signal }: McpSession) => ({ signal, timeout: REQUEST_MS });

/** The tools of a list as the server sent them, which the SDK does not check. A symbol, so that no server can send it. */
export const LISTED_TOOLS = Symbol('listed tools');
