import type { Operations } from './api/types.cjs';
import { createApi } from './core/api.js';
import { type ApiKeySource, findConnection } from './core/config.js';
import { Transport } from './core/http.js';

export interface ClientOptions {
  /** Address of the service, such as `https://registry.example.com`. */
  url?: string;
  /** An API key or token, or a function that gives one. The function is called again after a 401. */
  apiKey?: ApiKeySource;
  /** The workspace that calls apply to. Of the same source as the address and the key, unless it is given here. */
  workspaceId?: string;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
  /**
   * Time limit of each attempt, in milliseconds. By default 60,000, and 600,000 for calls of models and bodies that are not
   * JSON. 0 means none.
   */
  timeoutMs?: number;
  /** Retries for at least this long, in milliseconds, instead of `maxRetries` times. */
  retryForMs?: number;
  /** How often a call is retried (4). */
  maxRetries?: number;
  /** Headers to add to each request. */
  headers?: Record<string, string>;
}

/**
 * A client of the service. Without arguments, it takes the address, the key and the workspace from SERVICE_URL,
 * SERVICE_API_KEY and SERVICE_WORKSPACE_ID, else from the profile of the command line, else from `.data/bootstrap.json` of a
 * service that was started in this directory or one above it.
 *
 * @throws {ConfigurationError} if none of these is there
 */
export class Client {
  readonly url: string;
  readonly workspaceId: string | null;
  /**
   * A method for every operation of the service. `request` has the members of the path and the query, and a body as `body`.
   * `workspace_id` in bodies, and the header X-Service-Workspace-Id, default to the client's workspace.
   */
  readonly api: Operations;

  constructor(options: ClientOptions = {}) {
    const connection = findConnection(options);
    this.url = connection.url;
    this.workspaceId = connection.workspaceId;
    const transport = new Transport({ ...options, ...connection });
    this.api = createApi(transport, this.workspaceId);
  }
}
