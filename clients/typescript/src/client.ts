import type { Operations, Score } from './api/types.cjs';
import { createApi } from './core/api.js';
import { type ApiKeySource, findConnection } from './core/config.js';
import { Transport } from './core/http.js';
import { Agents } from './resources/agents.js';
import { Datasets } from './resources/datasets.js';
import { Experiments } from './resources/experiments.js';
import { Files } from './resources/files.js';
import { McpServers } from './resources/mcp-servers.js';
import { Models } from './resources/models.js';
import { Queue } from './resources/queue.js';
import { Scorers } from './resources/scorers.js';
import { type Feedback, scoreOfFeedback, Scores } from './resources/scores.js';
import { Skills } from './resources/skills.js';
import { Store } from './resources/store.js';
import { Traces } from './resources/traces.js';

export interface ClientOptions {
  /** Address of the service, such as `https://registry.example.com`. */
  url?: string;
  /** An API key or token, or a function that gives one. The function is called again after a 401. */
  apiKey?: ApiKeySource;
  /** The workspace that calls apply to. From the same source as the address and the key, unless it is given here. */
  workspaceId?: string;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
  /**
   * Time limit of each attempt, in milliseconds. By default 60,000, and 600,000 for calls of models and bodies that are not
   * JSON. 0 means none.
   */
  timeoutMs?: number;
  /** Retries for at most this long, in milliseconds, instead of `maxRetries` times. */
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
  /** Agents, their versions, and their sessions. */
  get agents(): Agents {
    return new Agents(this);
  }

  /** Datasets: the cases that agents are evaluated on. */
  get datasets(): Datasets {
    return new Datasets(this);
  }

  /** Experiments: runs of an agent over the cases of a dataset. */
  get experiments(): Experiments {
    return new Experiments(this);
  }

  /** Files and their versions. */
  get files(): Files {
    return new Files(this);
  }

  /** Registered MCP servers and their tools. */
  get mcpServers(): McpServers {
    return new McpServers(this);
  }

  /** Models of the gateway, and what they cost. */
  get models(): Models {
    return new Models(this);
  }

  /** Scorers that run in the service: code, judges and people. */
  get scorers(): Scorers {
    return new Scorers(this);
  }

  /** Scores of traces, sessions and results. */
  get scores(): Scores {
    return new Scores(this);
  }

  /** Skills: directories with a SKILL.md, and their versions. */
  get skills(): Skills {
    return new Skills(this);
  }

  /** The store: what teams share. */
  get store(): Store {
    return new Store(this);
  }

  /** Traces: what agents did. */
  get traces(): Traces {
    return new Traces(this);
  }

  /**
   * Returns the items of an annotation queue that are left for one person, to iterate over.
   *
   * @param author the person, if a service account annotates for several. That needs the role `admin`
   */
  queue(queue: string, { author }: { author?: string } = {}): Queue {
    return new Queue(this, queue, author);
  }

  /**
   * Records what a user of your application thinks of an answer. The next feedback of the same author to the same target
   * replaces it. Such scores never decide a gate.
   */
  feedback(feedback: Feedback): Promise<Score> {
    return this.api.createScore({ body: scoreOfFeedback(feedback) });
  }
}
